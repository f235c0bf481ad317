import ArgumentParser
import Postgres
import Schema

/// Options that `requeue` and `discard` share.
struct RepairOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("Events by number, or ranges of them.", valueName: "event")) var events: [String] = []
    @OptionGroup(title: "Conditions") var conditions: RepairConditions
    @Flag(help: "Only count the events.") var dryRun = false
    @Flag(help: "Do not ask before more than 1,000 events are changed.") var yes = false
    @Flag(help: "Print JSON objects.") var json = false
    @OptionGroup(title: "Settings") var database: DatabaseOptions
    @OptionGroup(title: "Settings") var service: ServiceOptions

    static let discussion = """
        Needs a role that may repair, such as appstore_operator. Select events by number, or by conditions; an event must meet all of \
        them. Up to 1,000 events are repaired in one transaction, more in steps with a commit each. Between the steps the command waits \
        while many events are due, so that fresh events go first. It asks before more than 1,000; where standard input is no terminal, it needs --yes. After Ctrl-C repaired events stay repaired; the same command repairs \
        the rest.

        With --json each line is one object: {"state": "running", "expected", "repaired"} after a step, {"state": "done", "repaired"} at \
        the end, {"event", "error"} of a named event that could not be repaired, {"events", "results"} of a dry run.

        Exit codes: 0 done (a dry run: counted), 1 a named event could not be repaired, the answer was no, or the database refused, 2 wrong \
        usage, 78 wrong settings.
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
        let operating = SchemaExpectation(role: "appstore_operator", function: "repair_step")
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
        guard count.total > 1000 else {
            report.repaired(try await client.repairAtOnce(conditions.filter), of: count)
            return true
        }
        if !yes {
            guard let isConfirmed = report.isConfirmed(count) else {
                throw ValidationError("\(count.total.ofEvents) would be changed\(RepairReport.list(count)): add --yes")
            }
            guard isConfirmed else { return false }
        }
        report.begins(count)
        let filter = conditions.filter
        let repaired = try await SteppedRepair(
            step: { try await client.step(filter, after: $0) },
            pause: { try await Task.sleep(for: $0) },
            report: { report.progress(RepairProgress(expected: count.total, repaired: $0.repaired), after: $1) }
        ).run()
        report.repaired(repaired, of: count, afterBar: true)
        return true
    }
}
