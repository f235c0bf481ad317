import HTML
import Postgres
import SQL

/// What can be done with events of a search.
enum EventRepair: String, CaseIterable, Sendable {
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
