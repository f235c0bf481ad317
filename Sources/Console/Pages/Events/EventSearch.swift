import AppStore
import FoundationEssentials
import Postgres
import SQL
import StrictJSON

/// A search for events: words of the form `qualifier:value`, all of which an event meets.
struct EventSearch: Sendable {
    /// What is wrong with a search, in words for the person who wrote it.
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    /// As it was written.
    let text: String
    /// The conditions that a repair can have, named as the members of `appstore.repair_filter`.
    private(set) var filter: JSONObject = [:]
    private(set) var contract: String?
    private(set) var uuid: UUID?
    private(set) var source: String?
    private(set) var isWaiting = false
    /// Whether it has a condition of its own.
    private let isQualified: Bool

    /// The qualifiers, each with an example.
    static let hints = [
        "type:REFUND", "outcome:failed", "reason:merge_failed", "app:com.example.shop", "env:any", "since:2d",
        "before:2026-01-31T12:00:00Z", "contract:2000000123456789", "uuid:…", "source:history_v2",
    ]

    private static let qualifiers = hints.map { String($0.prefix { $0 != ":" }) }
    private static let outcomes = ["applied", "superseded", "no_effect", "duplicate", "unhandled", "rejected", "failed", "discarded"]

    /// - Parameter environment: the chosen one, which holds where the search names none.
    init(_ text: String, in environment: String, now: Timestamp) throws(Fault) {
        self.text = text
        let words = Self.words(text)
        isQualified = !words.isEmpty
        var seen: Set<String> = []
        for word in words {
            guard let colon = word.firstIndex(of: ":") else { throw Self.unqualified(word) }
            let (name, value) = (String(word[..<colon]), String(word[word.index(after: colon)...]))
            guard Self.qualifiers.contains(name) else {
                throw Fault(
                    description: "There is no qualifier “\(name):”. There are \(Self.qualifiers.map { $0 + ":" }.joined(separator: " "))."
                )
            }
            guard !value.isEmpty else { throw Fault(description: "“\(name):” needs a value right after the colon.") }
            guard seen.insert(name).inserted else { throw Fault(description: "“\(name):” is given twice. An event has one value of it.") }
            try add(name, value, now)
        }
        if isWaiting, seen.count > 1 {
            throw Fault(description: "“outcome:waiting” stands alone: what an event says is known when it is settled.")
        }
        if !isWaiting, uuid == nil, !seen.contains("env") { filter["environment"] = .string(environment) }
    }

    /// The environment of what it finds, in words.
    var scope: String { filter.word("environment") ?? "all environments and of none" }

    /// Whether a repair of everything that matches can have these conditions.
    var canBeRepaired: Bool {
        isQualified && !filter.members.isEmpty && contract == nil && uuid == nil && source == nil && !isWaiting
    }

    /// - Parameters:
    ///   - place: the place of the last row of the page before; nil for the first page.
    func statement(after place: (microseconds: Int64, event: Int64)?, limit: Int32) -> Statement {
        .consoleFindEvents(
            filter: filterText,
            source: source,
            originalTransactionID: contract,
            notificationUUID: uuid,
            isWaiting: isWaiting,
            beforeMicroseconds: place?.microseconds,
            beforeEventID: place?.event,
            limit: limit
        )
    }

    /// The search in psql.
    var psql: PsqlText {
        let (filter, uuid, waits) = (filterText.text, uuid?.uuidString.lowercased(), isWaiting ? "true" : "false")
        return """
            SELECT * FROM appstore.find_events(jsonb_populate_record(NULL::appstore.repair_filter, \(filter)), \(source), \(contract), \(uuid), \
            \(waits));
            """
    }

    var filterText: JSONText { JSONText(String(decoding: JSONSerializer.serialize(filter), as: UTF8.self)) }

    private mutating func add(_ name: String, _ value: String, _ now: Timestamp) throws(Fault) {
        switch name {
        case "type":
            let parts = value.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard !parts.contains("") else { throw Fault(description: "“type:” is followed by a type, or by TYPE/SUBTYPE.") }
            filter["notification_type"] = .string(parts[0])
            if parts.count == 2 { filter["subtype"] = .string(parts[1]) }
        case "outcome" where value == "waiting": isWaiting = true
        case "outcome":
            guard Self.outcomes.contains(value) else {
                throw Fault(
                    description: "“\(value)” is no outcome. There are \((Self.outcomes + ["waiting"]).joined(separator: ", "))."
                )
            }
            filter["result"] = .string(value)
        case "reason": filter["reason"] = .string(value)
        case "app": filter["bundle_id"] = .string(value)
        case "env" where value == "any": break
        case "env":
            guard let environment = ["Production", "Sandbox"].first(where: { $0.lowercased() == value.lowercased() }) else {
                throw Fault(description: "“env:” is Production, Sandbox or any, not “\(value)”.")
            }
            filter["environment"] = .string(environment)
        case "since": filter["received_from"] = .string(try Self.instant(name, value, now))
        case "before": filter["received_before"] = .string(try Self.instant(name, value, now))
        case "contract": contract = value
        case "uuid":
            guard let uuid = UUID(uuidString: value) else {
                throw Fault(description: "“uuid:” needs a notificationUUID such as 7e3fb20b-4cdb-47cc-936d-99d65f608138, not “\(value)”.")
            }
            self.uuid = uuid
        default: source = value
        }
    }

    /// `45m`, `3h`, `2d` or `1w` ago, or an instant.
    private static func instant(_ name: String, _ value: String, _ now: Timestamp) throws(Fault) -> String {
        if let unit = value.last.flatMap({ ["m": Int64(60), "h": 3600, "d": 86_400, "w": 604_800][$0] }),
            let count = Int64(value.dropLast()), (1...100_000).contains(count)
        {
            return now.advanced(by: .seconds(-count * unit)).description
        }
        let text = value.count == 10 ? value + "T00:00:00Z" : value
        guard let instant = Timestamp(rfc3339: Array(text.utf8)) else {
            throw Fault(description: "“\(name):” needs a time such as 45m, 3h, 2d, 1w, 2026-01-31 or 2026-01-31T12:00:00Z, not “\(value)”.")
        }
        return instant.description
    }

    private static func unqualified(_ word: String) -> Fault {
        let guess =
            if word.allSatisfy(\.isNumber) {
                "Do you mean contract:\(word)?"
            } else if UUID(uuidString: word) != nil {
                "Do you mean uuid:\(word)?"
            } else {
                "Write a qualifier before it, such as type:\(word) or reason:\(word)."
            }
        return Fault(description: "“\(word)” has no qualifier. \(guess)")
    }

    /// The words between spaces; quotation marks keep a value with spaces together.
    private static func words(_ text: String) -> [String] {
        var words = [""]
        var isQuoted = false
        for character in text {
            if character == "\"" {
                isQuoted.toggle()
            } else if character.isWhitespace, !isQuoted {
                words.append("")
            } else {
                words[words.count - 1].append(character)
            }
        }
        return words.filter { !$0.isEmpty }
    }
}

extension Timestamp {
    /// The time of this machine.
    static var now: Timestamp { Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000)) }
}
