import ArgumentParser
import Postgres
import SQL
import Schema
import StrictJSON

/// `appstore-inbox reconcile status`: shows what each rule watches, has asked, and found.
struct ReconcileStatus: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract:
            "Shows, of each rule, how many contracts it watches, how often Apple was asked, and how often the answer changed the ledger.",
        discussion: """
            The view appstore.stale_contracts lists the contracts. With --json each line is {"rule", "watched", "open", "questions", "answered", \
            "changed", "wrongRatio"}; wrongRatio is a text such as "0.01", of the rule sample and the last 30 days, or null.
            """
    )

    private static let head = ["RULE", "WATCHED", "OPEN", "QUESTIONS", "ANSWERED", "CHANGED", "WRONG"]

    @OptionGroup var options: ReconcileOptions

    func run() async throws {
        let rules = try await options.rows(of: Statement.reconcileReadStatus(), .viewer).map(RuleStatus.init)
        options.print(rules.map(\.json), Self.head, rules.map(\.cells))
    }
}

/// A row of `appstore.reconcile_status`.
private struct RuleStatus {
    private static let counts = ["watched", "open", "questions", "answered", "changed"]

    private let rule: String
    private let numbers: [Int64]
    private let wrongRatio: Double?

    init(_ row: Row) throws {
        rule = try row.decode("rule")
        numbers = try Self.counts.map { try row.decode($0) }
        wrongRatio = try row.decode("wrong_ratio")
    }

    var json: JSONObject {
        let members: [(String, JSONValue)] = [("rule", .string(rule))] + zip(Self.counts, numbers).map { ($0, .integer($1)) }
        return JSONObject(members + [("wrongRatio", .optional(wrongRatio?.description))])
    }

    var cells: [String] { [rule] + numbers.map { "\($0)" } + [wrongRatio.map { "\(($0 * 10_000).rounded() / 100) %" } ?? ""] }
}
