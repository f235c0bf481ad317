import AppStore
import HTML
import StrictJSON

/// What happened to a customer, by two clocks: when it happened, and when it was learned.
struct Timeline {
    let document: JSONObject
    let customer: Customer

    /// What is learned later than this has its delay in words.
    private static let punctual = Duration.seconds(300)

    func markup(_ context: ConsoleContext) -> Markup {
        let entries = document.rows("timeline")
        let length = document.integer("timeline_length") ?? 0
        // Entries of one contract have their places; those of a user's contracts are read at each contract.
        let older = entries.first?.integer("place").flatMap { $0 > 1 ? $0 : nil }
        return Markup {
            documentTable("What happened, the latest first", entries.reversed(), empty: "Nothing.", columns(context))
            if older != nil {
                pager(newer: nil, older: older.map { customer.url(context).with("before", "\($0)") })
            } else if customer.contract == nil, length > Int64(entries.count) {
                p { "The latest \(entries.count) of \(length). The page of each contract has all of its own." }
            }
        }
    }

    private func columns(_ context: ConsoleContext) -> [DocumentColumn] {
        [
            .time("happened", "occurred_at"), DocumentColumn("learned") { Self.learned($0) }, .text("what", "what"),
            .text("product", "product_id"), .text("detail", "detail"), .text("user", "user_id"),
            .identifier("transaction", "transaction_id"), eventColumn("event", context),
        ]
    }

    private static func learned(_ entry: JSONObject) -> Markup {
        guard let learned = entry.instant("learned_at") else { return .text("–") }
        guard let occurred = entry.instant("occurred_at") else { return entry.time("learned_at") }
        let delay = Duration.milliseconds(learned.millisecondsSince1970 - occurred.millisecondsSince1970)
        return delay <= punctual
            ? .text("at once")
            : Markup {
                entry.time("learned_at"); " "; badge(.warning, "late: \(gap(delay))")
            }
    }
}
