import AppStore
import Ledger
import StrictJSON

/// What the event says for the books, and what they hold now.
extension Explanation {
    var factLines: [String] {
        guard let facts = reading?.facts else { return [] }
        var lines: [String] = []
        if let fact = facts.transaction {
            lines += ["charge \(fact.key.id) of contract \(fact.originalTransactionID), \(Self.version(fact.version))"]
            lines += standings.transaction.map { ["  " + Self.standing($0)] } ?? []
        }
        if let fact = facts.subscription {
            lines += ["renewal of contract \(fact.key.id), \(Self.version(fact.version))"]
            lines += standings.subscription.map { ["  " + Self.standing($0)] } ?? []
        }
        lines += legacyFactLines
        if let key = facts.namingPost?.key, !key.isReceipt { lines.append("\(key.user) posts charge \(key.transactionID ?? "")") }
        if let statement = facts.refundStatement {
            lines.append("refund of charge \(statement.transactionID) \(statement.kind.rawValue) at \(statement.signedDate)")
        }
        if let reason = facts.unhandledReason { lines.append("unhandled beyond that: \(reason)") }
        return lines.isEmpty ? ["none: there is nothing in it to merge"] : lines
    }

    static func version(_ version: Version) -> String {
        "version \(version.signedDate) \(version.hash.hexadecimal.prefix(12))"
    }

    static func standing(_ standing: FactStatus) -> String {
        let held = standing.held.map(version) ?? ""
        let event = standing.heldEvent.map { ", as event \($0) says" } ?? ""
        switch standing.relation {
        case .held: return "the register holds this fact"
        case .superseded: return "superseded: the register holds \(held)\(event)"
        case .notMerged where standing.held == nil: return "not merged: there is no register yet"
        case .notMerged: return "not merged: the register still holds \(held)\(event)"
        }
    }

    var effectLines: [String] {
        effects.map { effect in
            let origin =
                effect.isOwn ? "brought by this event" : effect.event.map { "brought by event \($0) first" } ?? "not recorded"
            return "\(effect.kind) \(effect.key): \(origin)"
        }
    }

    var bookLines: [String] {
        guard let books else { return [] }
        var lines: [String] = []
        if let contract = books.contract {
            lines.append("contract \(contract.word("original_transaction_id") ?? "") of \(contract.word("user_id") ?? "no known user")")
            lines += Self.members(
                contract,
                ["product_id", "status", "will_renew", "current_transaction_id", "current_period_end", "access_until"]
            )
        }
        for claim in books.claims {
            lines.append(
                "claim \(claim.word("kind") ?? ""):\(claim.word("source_id") ?? ""): \(claim.word("user_id") ?? "") from \(claim.word("effective_at") ?? "")"
            )
        }
        for order in books.orders {
            lines.append("order \(order.word("order_no") ?? "") of \(order.word("user_id") ?? "no known user")")
            lines += Self.members(
                order,
                ["status", "reason", "product_id", "paid_product_id", "transaction_id", "original_transaction_id", "paid_at"]
            )
        }
        for post in books.posts {
            let what = post.word("is_receipt") == "true" ? "receipt" : "transaction"
            lines.append(
                "\(what) posted by \(post.word("user_id") ?? "")\(post.word("transaction_id").map { " for charge \($0)" } ?? "")"
                    + " at \(post.word("received_at") ?? "") in event \(post.word("event_id") ?? "")"
            )
        }
        for statement in books.refundStatements {
            lines.append("refund \(statement.word("kind") ?? "") at \(statement.word("signed_date") ?? "")")
        }
        for call in books.calls {
            let reason = [call.word("reason"), call.word("waits_for")].compactMap(\.self).joined(separator: ", ")
            let answer = call.word("answer_event_id").map { ", answered in event \($0)" } ?? ""
            lines.append(
                "call \(call.word("call_id") ?? "") \(call.word("kind") ?? ""): \(call.word("state") ?? "")"
                    + "\(reason.isEmpty ? "" : " (\(reason))")\(answer)"
            )
        }
        return lines
    }

    /// The members that are there, one a line.
    private static func members(_ row: JSONObject, _ names: [String]) -> [String] {
        names.compactMap { name in row.word(name).map { "  \(name) \($0)" } }
    }
}
