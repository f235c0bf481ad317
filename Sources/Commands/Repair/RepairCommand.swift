import ArgumentParser
import InboxQueue
import Postgres
import Schema
import StrictJSON

/// `appstore-inbox requeue`: runs settled events again.
struct RequeueCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "requeue",
        abstract: "Runs events with any outcome again.",
        discussion: RepairOptions.discussion
    )

    @OptionGroup var options: RepairOptions
    @Option(help: "Why, for the audit log.") var note: String?

    func run() async throws {
        try await options.run(.requeue, note: note)
    }
}

/// `appstore-inbox discard`: ends events that must not run.
struct DiscardCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "discard",
        abstract: "Discards events that are failed, rejected or unhandled; by number also events that wait.",
        discussion: RepairOptions.discussion
    )

    @OptionGroup var options: RepairOptions
    @Option(help: "Why; it becomes the reason of their outcomes.") var note: String

    func run() async throws {
        try await options.run(.discard, note: note)
    }
}

/// Options that `requeue` and `discard` share.
struct RepairOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("Events by number, or ranges of them.", valueName: "event")) var events: [String] = []
    @OptionGroup(title: "Conditions") var conditions: RepairConditions
    @Flag(help: "Only count the events.") var dryRun = false
    @Flag(help: "Do not ask before more than 1,000 events are changed.") var yes = false
    @Flag(help: "Print JSON objects.") var json = false
    @OptionGroup(title: "Settings") var database: DatabaseOptions
    @OptionGroup(title: "Settings") var service: ServiceOptions

    fileprivate static let discussion = """
        Needs a role that may repair, such as appstore_operator. Select events by number, or by conditions; an event must meet all of \
        them. It asks before more than 1,000; where standard input is no terminal, it needs --yes.

        A repair by conditions is one that appstore.repair_status shows. It goes in steps of up to 1,000 events with a commit each, and \
        waits between them while many events are due, so that fresh events go first. Workers take the steps, and so does this command \
        while it waits for the end. After Ctrl-C the workers go on: SELECT appstore.stop_repair(…) ends a repair.

        With --json each line is one object: {"state": "running", "expected", "repaired"} after a step of a repair of more than 1,000 \
        events, {"state": "done", "repaired"} at the end, or "stopped" or "failed" with "error", {"event", "error"} of a named event that \
        could not be repaired, {"events", "results"} of a dry run.

        Exit codes: 0 done (a dry run: counted), 1 a named event could not be repaired, the answer was no, the repair was stopped, or the \
        database refused, 2 wrong usage, 78 wrong settings.
        """

    func validate() throws {
        for (name, text) in [("from", conditions.from), ("before", conditions.before)] {
            guard let text, !RepairConditions.isInstant(text) else { continue }
            throw ValidationError("--\(name) must be an instant such as 2026-01-31T12:00:00Z, not \(text.quotedUnlessSecret)")
        }
        if events.isEmpty == conditions.isEmpty { throw ValidationError("name either events or conditions, such as --outcome failed") }
        for text in events where EventSelection(text) == nil { throw ValidationError("an event must be ID or FIRST-LAST, not \"\(text)\"") }
        // Each range is checked before the sum, which could overflow.
        if selected.contains(where: { $0.count > 1000 }) || selected.reduce(0, { $0 + $1.count }) > 1000 {
            throw ValidationError("at most 1,000 events can be named: use conditions")
        }
    }

    private var selected: [ClosedRange<Int64>] { events.compactMap { EventSelection($0)?.events } }

    /// Carries out the repair and prints its result.
    func run(_ action: RepairClient.Action, note: String?) async throws {
        let reader = try service.reader(database)
        let operating = SchemaExpectation(role: "appstore_operator", function: "begin_repair")
        let report = RepairReport(action: action, isJSON: json, isTerminal: StandardOutput.isTerminal)
        let isComplete = try await CommandConnection.with(reader, command: action.rawValue, operating) { connection in
            let client = RepairClient(connection: connection, action: action, note: note)
            do {
                return try await events.isEmpty ? repair(with: client, report) : repairNamed(with: client, report)
            } catch let error as PostgresError where error.sqlState?.conditionClass == "22" {
                throw ValidationError(error.message + Program.remedy(error))
            }
        }
        if !isComplete { throw ExitCode.failure }
    }

    private func repairNamed(with client: RepairClient, _ report: RepairReport) async throws -> Bool {
        let count = try await client.existing(selected)
        if dryRun {
            report.counted(count)
            return true
        }
        var repaired = 0
        var isComplete = true
        for event in selected.joined() {
            do throws(RepairClient.Refusal) {
                try await client.repair(event: event)
                repaired += 1
            } catch {
                report.refused(event: event, error.reason)
                isComplete = false
            }
        }
        report.repaired(repaired, of: count)
        return isComplete
    }

    private func repair(with client: RepairClient, _ report: RepairReport) async throws -> Bool {
        let count = try await client.count(conditions.filter)
        if dryRun {
            report.counted(count)
            return true
        }
        let isLong = count.total > 1000
        if isLong && !yes {
            guard let isConfirmed = report.isConfirmed(count) else {
                throw ValidationError("\(count.total.ofEvents) would be changed\(RepairReport.list(count)): add --yes")
            }
            guard isConfirmed else { return false }
        }
        guard count.total > 0 else {
            report.repaired(0, of: count)
            return true
        }
        let repair = try await client.begin(conditions.filter, atMost: count.total)
        if isLong { report.begins(repair, count) }
        let end = try await end(of: repair, with: client) { progress, elapsed in
            if isLong { report.progress(RepairProgress(expected: count.total, repaired: progress.repaired), after: elapsed) }
        }
        guard end.state == "done" else {
            report.ended(end, repair)
            return false
        }
        report.repaired(end.repaired, of: count, afterBar: isLong)
        return true
    }

    /// Waits for the end of a repair, and takes the steps of it that no worker takes.
    ///
    /// - Parameter report: called with the progress while the repair runs, and the time since the beginning.
    private func end(
        of repair: Int64,
        with client: RepairClient,
        report: (RepairClient.Progress, Duration) -> Void
    ) async throws -> RepairClient.Progress {
        let clock = ContinuousClock()
        let start = clock.now
        var (reported, repaired) = (start, 0)
        while true {
            let pause = try await client.step()
            let progress = try await client.progress(of: repair)
            if progress.state != "running" { return progress }
            // A line for each step, and every ten seconds while none repairs an event.
            if progress.repaired > repaired || clock.now - reported >= .seconds(10) {
                report(progress, clock.now - start)
                (reported, repaired) = (clock.now, progress.repaired)
            }
            try await Task.sleep(for: min(pause, .seconds(1)))
        }
    }
}

/// The settled events that a repair selects: those that meet every given condition.
struct RepairConditions: ParsableArguments {
    @Option(name: .customLong("outcome"), help: "The result of their outcomes.") var result: Outcome.Result?
    @Option(help: "The reason of their outcomes, such as merge_failed or wrong_bundle.") var reason: String?
    @Option(help: "Apple's notificationType.", completion: .notificationTypes) var type: String?
    @Option(help: "Apple's subtype.") var subtype: String?
    @Option(help: "The app's bundle id.") var app: String?
    @Option(help: "Production or Sandbox.", completion: .environments) var environment: String?
    @Option(help: ArgumentHelp("Received at this instant or later, such as 2026-01-31T12:00:00Z.", valueName: "INSTANT")) var from: String?
    @Option(help: ArgumentHelp("Received before this instant.", valueName: "INSTANT")) var before: String?

    /// The conditions, named as the members of the SQL filter.
    var filter: JSONObject {
        let named = [
            ("result", result?.rawValue), ("reason", reason), ("notification_type", type), ("subtype", subtype), ("bundle_id", app),
            ("environment", environment), ("received_from", from), ("received_before", before),
        ]
        return JSONObject(named.compactMap { name, text in text.map { (name, .string($0)) } })
    }

    /// Whether a text is an instant of ISO 8601 with its offset. PostgreSQL would also take words such as yesterday.
    fileprivate static func isInstant(_ text: String) -> Bool { PostgresTimestamp(instant: text) != nil }

    var isEmpty: Bool {
        [result?.rawValue, reason, type, subtype, app, environment, from, before].allSatisfy { $0 == nil }
    }
}

extension Outcome.Result: ExpressibleByArgument {}

/// An event or a range of events on the command line: `4711` or `4711-4720`.
struct EventSelection: Hashable, Sendable {
    let events: ClosedRange<Int64>

    /// Nil when the text is neither.
    init?(_ text: String) {
        let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { Int64($0) }
        guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1], first >= 1, first <= last else {
            return nil
        }
        events = first...last
    }

    /// Whether a single event is named. It is an error if that event does not exist.
    var isSingle: Bool { events.lowerBound == events.upperBound }
}
