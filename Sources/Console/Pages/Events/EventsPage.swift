import AppStore
import FoundationEssentials
import Postgres
import SQL
import StrictJSON

/// The events that a search finds, the latest first.
struct EventsPage: ConsolePage {
    let path = "/events"
    let area = ConsoleArea.events

    static let rows: Int32 = 40

    func answer(_ request: PageRequest, _ context: ConsoleContext) async throws -> PageAnswer {
        let text = request.query["q"] ?? ""
        let search: EventSearch
        do {
            search = try EventSearch(text, in: context.environment, now: .now)
        } catch {
            return .page(page(text, context, elsewhere: .nowhere) { p(.class("problem"), .role("alert")) { error.description } })
        }
        let place = try Self.place(request.query["after"])
        let found = try await context.transaction.documents(search.statement(after: place, limit: Self.rows))
        let rows = found.filter { $0.word("is_found") == "true" }
        // A page that is not full ends at the oldest event, or where the search has read enough.
        let isCut = found.last?.word("is_cut") == "true"
        let goesOn = found.count == Int(Self.rows) || isCut
        let first = context.url("events").with("q", text.isEmpty ? nil : text)
        let next = goesOn ? found.last?.word("place").map { first.with("after", $0) } : nil
        let elsewhere = Elsewhere(psql: [search.psql], commands: ["appstore-inbox tail"])
        return .page(
            page(text, context, elsewhere: elsewhere) {
                p { "Events of \(search.scope). env:any finds those of all environments, and of none, as rejected events may be." }
                if context.mayAct {
                    selection(rows, search, context)
                } else {
                    Self.table(rows, context, isSelectable: false)
                }
                if isCut {
                    p {
                        "The search has read 10,000 events and goes on with “older”. A qualifier such as since:, outcome: or contract: makes it narrower."
                    }
                }
                pager(newer: place == nil ? nil : first, older: next)
            }
        )
    }

    private func page(_ text: String, _ context: ConsoleContext, elsewhere: Elsewhere, @MarkupBuilder _ content: () -> Markup) -> Page {
        Page(title: "Events", elsewhere: elsewhere) {
            searchForm(
                action: context.url("events"),
                name: "q",
                value: text,
                label: "Search events",
                hints: EventSearch.hints,
                kept: context.kept
            )
            content()
        }
    }

    /// The table in a form: what is done with it is said by the button.
    private func selection(_ rows: [JSONObject], _ search: EventSearch, _ context: ConsoleContext) -> Markup {
        form(.method(.post), .action(context.url("events", "repair"))) {
            hiddenField(name: "q", value: search.text)
            Self.table(rows, context, isSelectable: true)
            fieldset {
                legend { "Repair" }
                textField(name: "note", label: "Reason", isRequired: true)
                for repair in EventRepair.allCases where !repair.isOfAll || search.canBeRepaired {
                    button(.type(.submit), .name("do"), .value(repair.rawValue)) { repair.title }
                }
                if !search.canBeRepaired {
                    p {
                        "All that match can be repaired where the search has type:, outcome:, reason:, app:, env:, since: or before: only."
                    }
                }
            }
        }
    }

    private static func table(_ rows: [JSONObject], _ context: ConsoleContext, isSelectable: Bool) -> Markup {
        let box = DocumentColumn("select") { row in
            let event = row.word("event_id") ?? ""
            return input(.type(.checkbox), .name("event"), .value(event), .ariaLabel("Select event \(event)"))
        }
        let columns = [
            eventColumn("event", context), .time("received", "received_at"),
            DocumentColumn("type") { .text($0.typeWords ?? $0.word("source") ?? "–") },
            DocumentColumn("outcome") { row in
                Markup {
                    row.word("result").map { stateBadge($0) } ?? badge(.neutral, "waiting")
                    " "
                    row.word("reason")?.shortened
                }
            },
            .text("app", "bundle_id"), .text("environment", "environment"), contractColumn("contract", context),
            .number("attempts", "attempts"),
        ]
        return documentTable("Events, the latest first", rows, empty: "No event matches.", (isSelectable ? [box] : []) + columns)
    }

    /// Where the page before ended.
    private static func place(_ text: String?) throws -> (microseconds: Int64, event: Int64)? {
        guard let text else { return nil }
        let parts = text.split(separator: ".").map { Int64($0) }
        // PostgreSQL's instants end long before the numbers do.
        guard parts.count == 2, let microseconds = parts[0], let event = parts[1], microseconds.magnitude < 1 << 57 else {
            throw ConsoleProblem.badRequest("“after” is no place in the list: begin again at its first page.")
        }
        return (microseconds, event)
    }
}

/// A link to an event.
func eventColumn(_ title: String, _ context: ConsoleContext) -> DocumentColumn {
    DocumentColumn(title) { row in
        row.word("event_id").map { event in a(.href(context.url("events", event))) { event } } ?? .text("–")
    }
}

/// A link to the customer of a contract.
func contractColumn(_ title: String, _ context: ConsoleContext) -> DocumentColumn {
    DocumentColumn(title) { row in
        row.word("original_transaction_id").map { contractLink($0, row.word("environment"), context) } ?? .text("–")
    }
}

func contractLink(_ contract: String, _ environment: String?, _ context: ConsoleContext) -> Markup {
    let environment = environment ?? context.environment
    let url = ConsoleURL("customers", "contracts", contract).with("environment", environment == "Production" ? nil : environment)
    return a(.href(url)) { identifier(contract.shortened) }
}

extension JSONObject {
    /// `DID_RENEW`, or type and subtype with a slash.
    var typeWords: String? {
        word("notification_type").map { type in (type + (word("subtype").map { "/\($0)" } ?? "")).shortened }
    }
}

extension ConsoleContext {
    /// What a search by GET keeps of the address.
    var kept: [(name: String, value: String)] { environment == "Production" ? [] : [("environment", environment)] }
}

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

/// What can be done with events of a search.
private enum EventRepair: String, CaseIterable, Sendable {
    case requeueSelected = "requeue-selected"
    case discardSelected = "discard-selected"
    case requeueAll = "requeue-all"
    case discardAll = "discard-all"

    var isOfAll: Bool { self == .requeueAll || self == .discardAll }
    var isDiscard: Bool { self == .discardSelected || self == .discardAll }
    /// As the functions of the schema are called.
    var action: String { isDiscard ? "discard" : "requeue" }
    var title: String { "\(isDiscard ? "Discard" : "Requeue") \(isOfAll ? "all that match" : "selected")…" }
}

/// Repairs selected events at once, or all that match in steps. Both are counted and confirmed first.
struct RepairEvents: ConsoleAction {
    let path = "/events/repair"
    let area = ConsoleArea.events
    let right = ConsoleRight.operate

    func perform(_ form: ActionForm, _ context: ConsoleContext) async throws -> ActionAnswer {
        guard let repair = form["do"].flatMap(EventRepair.init(rawValue:)) else {
            throw ConsoleProblem.badRequest("Choose what is to be done by one of the buttons.")
        }
        let note = try form.required("note", "Reason")
        return try await repair.isOfAll ? all(repair, note, form, context) : selected(repair, note, form, context)
    }

    private func selected(_ repair: EventRepair, _ note: String, _ form: ActionForm, _ context: ConsoleContext) async throws -> ActionAnswer
    {
        let events = Set(form.all("event").compactMap { Int64($0) }).sorted()
        guard (1...1000).contains(events.count) else { throw ConsoleProblem.badRequest("Select an event first, at most 1,000.") }
        guard form.isConfirmed else {
            let count = try await Count(context.transaction.query(.repairCountNamed(first: events, last: events)))
            return .confirm(confirmation(repair, count, events.count == 1 ? "the event \(events[0])" : "these \(events.count) events"))
        }
        let statement: Statement =
            repair.isDiscard ? .consoleDiscardEvents(note: note, eventIDs: events) : .consoleRequeueEvents(note: note, eventIDs: events)
        let done = try await context.transaction.query(statement).first?.decode("events", as: Int64.self) ?? 0
        let held = Int64(events.count) - done
        let rest = held == 0 ? "" : " \(held) are held by a worker: try again in some seconds."
        let back = context.url("events").with("q", form["q"])
        return .done(back, "\(counted(done)) events are \(repair.action == "requeue" ? "requeued" : "discarded").\(rest)")
    }

    private func all(_ repair: EventRepair, _ note: String, _ form: ActionForm, _ context: ConsoleContext) async throws -> ActionAnswer {
        let search: EventSearch
        do {
            search = try EventSearch(form["q"] ?? "", in: context.environment, now: .now)
        } catch {
            throw ConsoleProblem.badRequest(error.description)
        }
        guard search.canBeRepaired else {
            throw ConsoleProblem.badRequest(
                "A repair of all that match needs conditions that a repair can have. Select the events instead."
            )
        }
        let count = try await Count(
            context.transaction.query(
                .countRepair(action: repair.action, filter: search.filterText, atMost: Int64(Count.cap + 1))
            )
        )
        guard count.total > 0 else {
            throw ConsoleProblem.conflict("No event that matches can be \(repair.isDiscard ? "discarded" : "requeued").")
        }
        let expected = count.isComplete ? form.confirms(count: count.total) ? count.total : nil : form.limit(confirmedBy: repair.action)
        guard let expected else {
            return .confirm(confirmation(repair, count, "all that match “\(search.text)” in \(search.scope)"))
        }
        let row = try await context.transaction.query(
            .beginRepair(action: repair.action, filter: search.filterText, note: note, maxEvents: expected)
        ).first
        let id = try row?.decode("repair_id", as: Int64.self) ?? 0
        return .done(context.url("repairs"), "Repair \(id) has begun: \(grouped(expected)) events.")
    }

    private func confirmation(_ repair: EventRepair, _ count: Count, _ which: String) -> Confirmation {
        let verb = repair.isDiscard ? "Discard" : "Requeue"
        var confirmation = Confirmation(
            title: "\(verb) \(counted(count.total)) events?",
            button: "\(verb) \(counted(count.total)) events",
            isDangerous: repair.isDiscard,
            count: count.total
        ) {
            p { "\(verb) \(which): \(count.words)." }
            p {
                repair.isDiscard
                    ? "A discarded event does not run again. The reason becomes the reason of its outcome and is kept for ever: name no user."
                    : "Each runs again with the settings of now, at a pace that lets fresh events go first. A second run adds no second effect."
            }
            if !count.isComplete {
                p { "How many match is not known. The repair begins with those that were settled first, and ends at your limit." }
            }
        }
        guard !count.isComplete else { return confirmation }
        confirmation.fields = Markup {
            textField(name: ActionForm.wordName, label: "Type the word \(repair.action)", isRequired: true)
            textField(name: ActionForm.limitName, label: "At most how many events", isRequired: true, maximum: 10)
        }
        return confirmation
    }

    /// Events by result, up to 10,001.
    private struct Count {
        let total: Int64
        let words: String
        var isComplete: Bool { total <= Self.cap }
        /// The most events that are counted.
        static let cap: Int64 = 10_000

        init(_ rows: Rows) throws {
            let results = try rows.map { (try $0.decode("result", as: String.self), try $0.decode("events", as: Int64.self)) }
            total = results.reduce(0) { $0 + $1.1 }
            words = results.map { "\(counted($0.1)) \($0.0)" }.joined(separator: ", ")
        }
    }
}
