# steps.sh, which run.sh and suite.sh read: steps that say what they cost, and commands that run beside them.
# A step costs seconds, and seconds of processors: on two, twice its seconds where it computes all the time. What is less waits.
passed=0
notes=$(mktemp -d)
others=
trap 'leave' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

leave() {
    for other in $others; do
        kill -TERM "-$other" 2>/dev/null || true
    done
    rm -rf "$notes"
}

# Sets `spent`: the seconds of processors of all commands that ended.
count_spent() {
    times >"$notes/times" # of this very shell: a substitution is another one
    spent=$(awk -F '[ms ]+' 'NR == 2 { printf "%d", $1 * 60 + $2 + $3 * 60 + $4 }' "$notes/times")
}

fail() { # WHAT
    printf '\nFAILED: %s\n' "$1"
    exit 1
}

# Runs a command, and says what it cost.
step() { # WHAT COMMAND...
    what=$1
    shift
    printf '\n=== %s\n' "$what"
    count_spent
    start=$(date +%s) spent_before=$spent
    "$@" || {
        tell_steps
        fail "$what"
    }
    passed=$((passed + 1))
    count_spent
    echo "$(($(date +%s) - start)) $((spent - spent_before)) $what" >>"$notes/steps"
    echo "--- $what: $(($(date +%s) - start)) s, $((spent - spent_before)) s of processors; $(df -Ph . | awk 'NR == 2 { print $4 }') free"
}

# What the steps so far cost.
tell_steps() {
    printf '\nseconds, and of processors:\n'
    awk '{ time += $1; spent += $2; $1 = sprintf("%6d", $1); $2 = sprintf("%6d ", $2); print }
         END { printf "%6d %6d  all\n", time, spent }' "$notes/steps" 2>/dev/null || true
}

# Starts a command that waits for mirrors and disks more than it computes; `await NAME` is the step that ends it, and shows what it said.
beside() { # NAME COMMAND...
    other=$1
    shift
    setsid "$@" >"$notes/$other" 2>&1 & # a group of its own: all of it ends where a step fails
    eval "other_$other=$!"
    others="$others $!"
}
await() { # NAME
    eval "other=\$other_$1"
    status=0
    wait "$other" || status=$?
    others=$(echo " $others " | sed "s/ $other / /")
    cat "$notes/$1"
    return "$status"
}
