import Console
import StrictJSON

/// What `appstore.explain_customer` returns of a user, for people.
struct UserPage {
    private let document: JSONObject
    private let user: String
    private let environment: String

    /// The latest rows of a list that are shown.
    private static let (shownRows, shownEntries) = (20, 30)

    init(_ document: JSONObject) {
        self.document = document
        user = document.word("user_id") ?? ""
        environment = document.word("environment") ?? ""
    }

    /// A part for each list that has something to say, with a line for each row.
    var text: String {
        let entries = document.rows("timeline").suffix(Self.shownEntries)
        let length = document.word("timeline_length").flatMap { Int($0) } ?? 0
        let parts = [
            part("entitlements", document.rows("entitlements").map(entitlement), none: "none"),
            part("orders", latest("orders", order), of: document.rows("orders").count, none: "none"),
            part("contracts, as Apple described them last", document.rows("contracts").map(contract), none: "none"),
            downloads.isEmpty ? [] : part("first downloads of the app", downloads, none: ""),
            part("needs attention", attention, none: "nothing"),
            part("timeline", entries.map(entry), of: length, none: "empty"),
        ]
        return (["\(user) in \(environment)".onOneLineSafely] + parts.flatMap(\.self)).joined(separator: "\n")
    }

    private func part(_ title: String, _ rows: [[String]], of count: Int = 0, none: String) -> [String] {
        let lines = Columns.lines(rows.map { $0.map(\.onOneLineSafely) }).map { "  " + $0 }
        let left = count - rows.count
        let rest = left > 0 ? ["  … \(left) earlier ones are left out: see --json"] : []
        return ["", title] + (lines.isEmpty ? ["  \(none)"] : rest + lines)
    }

    private func latest(_ name: String, _ cells: (JSONObject) -> [String]) -> [[String]] {
        document.rows(name).suffix(Self.shownRows).map(cells)
    }

    private func entitlement(_ row: JSONObject) -> [String] {
        let why = row.word("why") ?? ""
        let until = row.minute("until") ?? "at an unknown time"
        let end = row.minute("active_until") ?? until
        let renewal = row.word("will_renew").map { $0 == "true" ? ", renews then" : ", ends then" } ?? ""
        let words =
            switch why {
            case "active": until == "infinity" ? "paid, without end" : "paid, until \(until)\(renewal)"
            case "grace_period": "grace period until \(until): the last charge failed, and Apple requires that service goes on"
            case "leeway": "leeway until \(end): the period ended \(until), and its renewal is awaited"
            case "billing_retry": "ended \(until): the charge failed, and Apple still tries"
            case "expired": "ended \(end): expired and not renewed"
            case "refunded": "ended \(until): paid back"
            case "revoked": "ended \(until): no longer shared or assigned"
            case "upgraded": "ended \(until): replaced by a higher plan"
            case "duration_unknown": "unknown until when: appstore.products does not list how many days it lasts"
            case "purchase_unknown": "unknown until when: the state of a renewal has arrived, but no charge"
            default: "\(why) \(until)"
            }
        return [
            row.word("entitlement") ?? "", row.word("active") == "true" ? "active" : "not active", words,
            row.word("product_id") == row.word("entitlement") ? "" : row.word("product_id") ?? "",
            row.word("original_transaction_id") ?? "",
        ]
    }

    private func order(_ row: JSONObject) -> [String] {
        [
            row.minute("ordered_at") ?? row.minute("paid_at") ?? "", row.word("order_no") ?? "", row.word("status") ?? "",
            row.word("product_id") ?? "", row.price ?? "", row.word("transaction_id").map { "transaction \($0)" } ?? "",
        ]
    }

    private func contract(_ row: JSONObject) -> [String] {
        let states = ["1": "active", "2": "expired", "3": "billing retry", "4": "grace period", "5": "revoked"]
        let end = row.minute("active_until").map {
            $0 == "infinity" ? "gives access without end" : "\(row.word("active") == "true" ? "gives" : "gave") access until \($0)"
        }
        let next = row.word("auto_renew_product_id").map { $0 == row.word("product_id") ? "" : " as \($0)" } ?? ""
        let renewal = row.word("will_renew").map { $0 == "true" ? "renews\(next)" : "does not renew" }
        let owner = row.word("user_id")
        let terms = ContractTerms(row)
        return [
            row.word("original_transaction_id") ?? "", row.word("product_id") ?? "", row.word("bundle_id") ?? "",
            row.word("status").map { states[$0] ?? "status \($0)" } ?? "", renewal ?? "", end ?? "",
            [terms.seats, terms.commitment].compactMap(\.self).joined(separator: "; "),
            owner == user ? "" : owner.map { "belongs to \($0)" } ?? "has no owner",
        ]
    }

    private var downloads: [[String]] {
        latest("app_transactions") { row in
            [
                row.minute("original_purchase_date") ?? "", row.word("bundle_id") ?? "",
                row.word("original_application_version").map { "version \($0)" } ?? "", row.word("original_platform") ?? "",
                row.minute("revocation_date").map { "taken back \($0)" } ?? "", row.word("app_transaction_id") ?? "",
            ]
        }
    }

    /// Unpaid orders, then purchases without owner or with another one, then posts.
    private var attention: [[String]] {
        let pending = document.rows("orders").filter { $0.word("status") == "pending" }
        let unpaid = pending.suffix(3).map { row in
            let reason = row.word("reason").map { ": \($0)" } ?? ""
            return ["order \(row.word("order_no") ?? "") of \(row.word("product_id") ?? "") is not paid\(reason)"]
        }
        let rest = pending.count > unpaid.count ? [["\(pending.count - unpaid.count) earlier orders are not paid either"]] : []
        let unmatched = document.rows("unmatched").map { row in [purchase(row)] }
        let posts = latest("posts") { row in
            let event = row.word("event_id") ?? ""
            let state = [row.word("result") ?? "waits", row.word("reason")].compactMap(\.self).joined(separator: " ")
            return ["\(row.word("source") ?? "") of \(row.minute("received_at") ?? ""): \(state); appstore-inbox explain \(event)"]
        }
        return rest + unpaid + unmatched + posts
    }

    private func purchase(_ row: JSONObject) -> String {
        let persons = [("user_id", "named by"), ("owner_user_id", "belongs to")].compactMap { member, words in
            row.word(member).flatMap { $0 == user ? nil : "\(words) \($0)" }
        }
        let (no, contract) = (row.word("order_no") ?? "", row.word("original_transaction_id") ?? "")
        let resolution =
            switch row.word("resolution") {
            case "create_order_or_set_user_token": "make the order \(no), or say whose token it is"
            case "set_user_token": "say whose token \(no) is"
            case "link_owner_or_refund": UserCommand.link(contract, in: environment, to: user) + ", or refund it"
            default: UserCommand.link(contract, in: environment, to: user)
            }
        return "purchase \(row.word("transaction_id") ?? "") of \(row.word("product_id") ?? ""): "
            + ([row.word("reason") ?? ""] + persons).joined(separator: ", ") + "; \(resolution)"
    }

    private func entry(_ row: JSONObject) -> [String] {
        let other = row.word("user_id").flatMap { $0 == user ? nil : "user \($0)" }
        return [
            row.minute("occurred_at") ?? "", row.word("what") ?? "", row.word("product_id") ?? row.word("original_transaction_id") ?? "",
            row.word("event_id").map { "#\($0)" } ?? "", [other, row.word("detail")].compactMap(\.self).joined(separator: ", "),
        ]
    }
}

extension JSONObject {
    /// An instant of PostgreSQL to the minute: `2026-11-23 09:05`, or `infinity`.
    fileprivate func minute(_ name: String) -> String? { word(name)?.minute }

    /// The price of an order, which is in thousandths and for the whole quantity.
    fileprivate var price: String? {
        guard let price = word("price").flatMap({ Int64($0) }) else { return nil }
        let cents = String(price % 1000 / 10)
        let quantity = word("quantity").flatMap { $0 == "1" ? nil : " for \($0)" } ?? ""
        return "\(price / 1000).\(cents.count < 2 ? "0" : "")\(cents)" + (word("currency").map { " \($0)" } ?? "") + quantity
    }
}

extension String {
    fileprivate var minute: String { String(prefix(16)).replacing("T", with: " ") }
}
