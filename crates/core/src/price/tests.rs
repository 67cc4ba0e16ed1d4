use super::*;
use alloc::string::ToString;
use proptest::prelude::*;

fn micros(text: &str) -> Option<u64> {
    Micros::parse_usd(text).map(Micros::get)
}

fn price(model: &'static str, input: u64, output: u64) -> Price {
    Price {
        model: model.into(),
        input: Micros::new(input),
        output: Micros::new(output),
        cached: None,
        cache_write: None,
        dated: "2026-11-30".into(),
        source: "a test".into(),
    }
}

#[test]
fn dollars_are_read_exactly_and_rounded_up() {
    assert_eq!(micros("0.60"), Some(600_000));
    assert_eq!(micros("1"), Some(1_000_000));
    assert_eq!(micros(".5"), Some(500_000));
    assert_eq!(micros("0.0000001"), Some(1));
    assert_eq!(micros("0.0000010000"), Some(1));
    assert_eq!(micros("1000000000"), Some(Micros::MOST.get()));
}

#[test]
fn what_is_no_plain_amount_is_none() {
    for text in [
        "",
        ".",
        "1.",
        "-1",
        "+1",
        "1e3",
        "NaN",
        "inf",
        "$1",
        "1,5",
        " 1",
        "1000000001",
        "0x1",
        "99999999999999999999",
    ] {
        assert_eq!(micros(text), None, "{text:?}");
    }
}

#[test]
fn f4_a_number_that_is_no_amount_is_none() {
    for usd in [f64::NAN, f64::INFINITY, -0.01, -1e300, 1e10] {
        assert_eq!(Micros::from_usd(usd), None, "{usd}");
    }
    assert_eq!(Micros::from_usd(-0.0), Some(Micros::ZERO));
    assert_eq!(Micros::from_usd(1e-9), Some(Micros::new(1)));
    assert_eq!(Micros::from_usd(0.57), Some(Micros::new(570_000)));
}

#[test]
fn money_is_shown_in_dollars() {
    for (amount, text) in [
        (0, "$0.00"),
        (600_000, "$0.60"),
        (1, "$0.000001"),
        (12_345_678, "$12.345678"),
        (10_000_000, "$10.00"),
    ] {
        assert_eq!(Micros::new(amount).to_string(), text);
    }
}

#[test]
fn a_model_is_found_with_its_editions_and_its_provider() {
    let table = PriceTable::default();
    let found = |model: &str| table.find(model).map(|price| price.model.as_ref());
    for (model, name) in [
        ("gpt-4o", "gpt-4o"),
        ("openai:gpt-4o", "gpt-4o"),
        ("openai/gpt-4o-2024-08-06", "gpt-4o"),
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-05-13"),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("claude-haiku-4-5@20251001", "claude-haiku-4-5"),
        ("claude-opus-5-5", "claude-opus-5-5"),
    ] {
        assert_eq!(found(model), Some(name), "{model}");
    }
}

#[test]
fn an_unknown_model_has_no_price() {
    let table = PriceTable::default();
    for model in [
        "",
        "gpt-4o-audio-preview",
        "gpt-4",
        "gpt-4o-1",
        "claude-opus-5-9",
        "claude-opus-4-20250514",
        "claude-haiku-5-5",
        "ollama:llama3",
        "my-gpt-4o",
    ] {
        assert_eq!(table.find(model), None, "{model}");
    }
}

#[test]
fn a_user_s_entry_wins_where_it_fits_as_well() {
    let table = PriceTable::with(alloc::vec![
        price("gpt-4o", 1, 2),
        price("my-*", 3, 4),
        price("my-own-*", 5, 6),
    ]);
    let input = |model: &str| table.find(model).map(|price| price.input.get());
    assert_eq!(input("gpt-4o-2024-08-06"), Some(1));
    assert_eq!(input("gpt-4o-mini"), Some(150_000));
    assert_eq!(input("my-model"), Some(3));
    assert_eq!(input("my-own-model"), Some(5));
}

#[test]
fn a_call_costs_what_its_parts_cost_rounded_up_once() {
    let table = PriceTable::default();
    let haiku = table.find("claude-haiku-4-5").unwrap();
    let used = TokenUse {
        input: 1_000,
        cached: 10_000,
        cache_write: 2_000,
        output: 500,
    };
    assert_eq!(
        haiku.cost(&used),
        Micros::new(1_000 + 1_000 + 2_500 + 2_500)
    );
    let one = TokenUse {
        cached: 1,
        ..TokenUse::default()
    };
    assert_eq!(haiku.cost(&one), Micros::new(1));
    assert_eq!(haiku.estimate(1_000, 500), Micros::new(1_250 + 2_500));
    assert_eq!(haiku.ceiling(1_000), Micros::new(5_000));
}

#[test]
fn the_table_is_dated_sourced_and_without_doubles() {
    for (at, price) in BUILT_IN.iter().enumerate() {
        assert_eq!(price.dated.len(), 10, "{}", price.model);
        assert!(price.source.starts_with("https://"), "{}", price.model);
        assert!(price.input <= price.output, "{}", price.model);
        assert!(price.cached <= Some(price.input), "{}", price.model);
        assert!(
            BUILT_IN[..at]
                .iter()
                .all(|other| other.model != price.model)
        );
    }
}

#[test]
fn a_price_is_written_and_read_back() {
    let table = PriceTable::with(BUILT_IN.to_vec());
    let json = serde_json::to_string(&table).unwrap();
    assert_eq!(serde_json::from_str::<PriceTable>(&json).unwrap(), table);
}

proptest! {
    #[test]
    fn what_was_set_aside_covers_what_it_cost(
        at in 0..BUILT_IN.len(), input in 0u64..10_000_000, cached in 0u64..10_000_000,
        cache_write in 0u64..10_000_000, output in 0u64..10_000_000,
    ) {
        let price = &BUILT_IN[at];
        let used = TokenUse { input, cached, cache_write, output };
        let cost = price.cost(&used);
        prop_assert!(price.estimate(input + cached + cache_write, output) >= cost);
        prop_assert!(price.ceiling(used.total()) >= cost);
    }

    #[test]
    fn six_decimals_survive_a_number(micros in 0..1_000_000_000_000_000u64) {
        let text = alloc::format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
        prop_assert_eq!(Micros::parse_usd(&text), Some(Micros::new(micros)));
        if micros < 1_000_000_000_000 {
            let usd: f64 = text.parse().unwrap();
            prop_assert_eq!(Micros::from_usd(usd), Some(Micros::new(micros)));
        }
    }

    #[test]
    fn no_model_name_makes_it_panic(model in ".{0,40}") {
        let _ = PriceTable::default().find(&model);
    }
}
