/// A change of the sequencer's rule, and whether the feed suffers from it.
struct ChangedRule: Sendable, CustomStringConvertible {
    /// A function of the schema, and the text of it that is replaced.
    struct Edit: Sendable {
        let function: String
        let old: String
        let new: String

        init(_ function: String, _ old: String, _ new: String) {
            (self.function, self.old, self.new) = (function, old, new)
        }
    }

    let description: String
    let edits: [Edit]
    /// What the violations that it causes begin with; empty where another part of the rule makes up for it.
    let violations: Set<String>
    /// Whether its tells stay when they are told, so that each step must tell all that it finds.
    var keepsTells = false

    private init(_ description: String, _ edits: [Edit], _ violations: Set<String>, keepsTells: Bool = false) {
        (self.description, self.edits, self.violations, self.keepsTells) = (description, edits, violations, keepsTells)
    }

    static let none = ChangedRule("unchanged", [], [])

    static let all: [ChangedRule] = [
        none,
        ChangedRule("tells of open transactions are not looked for", [straggler], ["missing"]),
        ChangedRule("a step does not begin for tells of open transactions", [Edit("has_tells", openTells, ";")], ["missing"]),
        ChangedRule(
            "the range begins after the snapshot's xmax",
            [Edit("take_tells", "t.xid >= v_from", "t.xid > v_from")],
            ["missing"]
        ),
        ChangedRule(
            "a step does not begin for the transaction at xmax",
            [Edit("has_tells", "t.xid >= v_from", "t.xid > v_from")],
            ["missing"]
        ),
        ChangedRule(
            "the range ends at the oldest open transaction",
            [Edit("take_tells", "pg_snapshot_xmax(p_current)", "pg_snapshot_xmin(p_current)")],
            ["missing"]
        ),
        // The snapshot does not see the transaction at its xmax.
        ChangedRule("the range includes the snapshot's xmax", [Edit("take_tells", "t.xid < v_to", "t.xid <= v_to")], []),
        ChangedRule("what was committed after the snapshot is told, too", [anyCommitted, anyStraggler], ["order"]),
        ChangedRule(
            "what a full step leaves counts as told",
            [Edit("sequence_feed", "CASE WHEN v_is_full THEN v_head.told_snapshot ELSE v_current END", "v_current")],
            ["missing"]
        ),
        ChangedRule(
            "the head is not locked",
            [Edit("sequence_feed", lockingRead, "SELECT h.* INTO v_head FROM appstore.feed_head AS h;")],
            standstill
        ),
        ChangedRule(
            "the head is read before it is locked",
            [Edit("sequence_feed", lockingRead, "PERFORM FROM appstore.feed_head FOR UPDATE SKIP LOCKED;")],
            standstill
        ),
        // Moves the snapshot back; what is told is deleted, so it is not told again.
        ChangedRule("the snapshot is taken before the lock", earlySnapshot, []),
        ChangedRule("tells stay", [kept], [], keepsTells: true),
        ChangedRule("tells stay, and the snapshot is taken before the lock", [kept] + earlySnapshot, ["twice"], keepsTells: true),
        ChangedRule("tells stay, and those of open transactions are not looked for", [kept, straggler], ["missing"], keepsTells: true),
    ]

    /// The head goes back to an earlier position, and the next entry gets one that exists.
    private static let standstill: Set<String> = ["gap", "step"]

    private static let openTells = " OR EXISTS (SELECT FROM appstore.tells AS t WHERE t.xid = ANY (v_open));"
    private static let straggler = Edit("take_tells", "t.xid = ANY (v_open) AND", "false AND")
    private static let anyCommitted = Edit("take_tells", "t.xid < v_to AND pg_visible_in_snapshot(t.xid, p_current)", "t.xid < v_to")
    private static let anyStraggler = Edit(
        "take_tells",
        "t.xid = ANY (v_open) AND pg_visible_in_snapshot(t.xid, p_current)",
        "t.xid = ANY (v_open)"
    )
    private static let lockingRead = "SELECT h.* INTO v_head FROM appstore.feed_head AS h FOR UPDATE SKIP LOCKED;"
    private static let kept = Edit(
        "take_tells",
        "DELETE FROM appstore.tells AS t WHERE t.ctid = ANY (ARRAY(SELECT next.row_id FROM next)) RETURNING t.*",
        "SELECT t.* FROM appstore.tells AS t WHERE t.ctid = ANY (ARRAY(SELECT next.row_id FROM next))"
    )
    private static let earlySnapshot = [
        Edit("sequence_feed", "-- 2. The row lock", "v_current := pg_current_snapshot();\n    -- 2. The row lock"),
        Edit("sequence_feed", "coalesce(v_head.target_snapshot, pg_current_snapshot())", "coalesce(v_head.target_snapshot, v_current)"),
    ]
}
