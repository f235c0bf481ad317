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
        let older = entries.first?.integer("place").flatMap { $0 > 1 ? $0 : nil }
        return Markup {
            documentTable("What happened, the latest first", entries.reversed(), empty: "Nothing.", columns(context))
            pager(newer: nil, older: older.map { customer.url(context).with("before", "\($0)") })
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
