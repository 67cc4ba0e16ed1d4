set -eu

# The next message, once there is one: the sender is left in $from, the text in $body.
next() {
    pitcrew wait --message --timeout 2m >/dev/null
    mail=$(pitcrew inbox --next --and-ack --json)
    from=$(printf '%s\n' "$mail" | sed -n 's/.*"from": "\([a-z]*\)".*/\1/p' | head -n 1)
    body=$(printf '%s\n' "$mail" | sed -n 's/.*"body": "\(.*\)",\{0,1\}$/\1/p' | head -n 1)
}

pitcrew task claim top >/dev/null
pitcrew claim notes.txt 1 10 >/dev/null
pitcrew send bob 'How are dates written here?' --intent request >/dev/null
pitcrew send cy 'I have lines 1 to 10 of notes.txt.' >/dev/null

# bob answers and cy asks for lines, in whichever order.
answered=no asked=no
while [ $answered = no ] || [ $asked = no ]; do
    next
    case $from in
        bob) answered=yes ;;
        cy) asked=yes ;;
        *) echo "a message of $from: $body" >&2; exit 9 ;;
    esac
done

# Left alone, it would write dates as it always does. What bob found changes that.
date=11/30/26
if pitcrew discoveries --new --json | grep -q 'ISO 8601'; then date=2026-11-30; fi
sed -i "1,7s|.*|ann $date|" notes.txt
pitcrew release notes.txt 8 10 >/dev/null
pitcrew task done top "with dates like $date" >/dev/null

# cy writes what it can, and says what is left.
next
[ "$from" = cy ] || { echo "a message of $from: $body" >&2; exit 9; }
pitcrew task claim rest >/dev/null
pitcrew claim notes.txt 15 20 >/dev/null
sed -i "15,20s|.*|ann $date|" notes.txt
pitcrew release notes.txt >/dev/null
pitcrew task done rest "$body" >/dev/null

pitcrew task claim check >/dev/null
if grep -q 'to be written' notes.txt; then echo 'not all is written' >&2; exit 9; fi
pitcrew task done check 'all is written' >/dev/null
pitcrew broadcast 'The job is done.' >/dev/null
