import ArgumentParser
import Logging
import Postgres

/// What `requeue` and `discard` have in common.
struct RepairOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("Events by number, or ranges of them.", valueName: "event")) var events: [String] = []
    @OptionGroup(title: "Conditions") var conditions: RepairConditions
    @Flag(help: "Only count the events.") var dryRun = false
    @Flag(help: "Print JSON objects.") var json = false
    @OptionGroup(title: "Settings") var database: DatabaseOptions
    @OptionGroup(title: "Settings") var service: ServiceOptions

    static let discussion = """
        Needs a role that may repair, such as appstore_operator. Events are named by number, or by conditions, all of which must fit. Up to \
        1,000 are repaired at once. More become a request that the workers carry out in steps while live traffic goes on, and this command \
        shows how far it has come; Ctrl-C ends the display, not the request, which SELECT appstore.stop_repair(NUMBER) does.

        With --json each line is one object: {"repair", "state", "expected", "repaired", "error"} of a request as it goes on, \
        {"state": "done", "repaired"} without one, {"events"} of a dry run.

        Exit codes: 0 done (a dry run: counted), 1 a named event could not be repaired, the request was stopped or failed, or the database \
        refused, 2 wrong usage, 78 wrong settings.
        """

    func validate() throws {
        if events.isEmpty == conditions.isEmpty { throw ValidationError("name either events or conditions, such as --outcome failed") }
        for text in events where EventSelection(text) == nil { throw ValidationError("an event must be ID or FIRST-LAST, not \"\(text)\"") }
        // Each range by itself first: the sum of large ones may be no number.
        if selected.contains(where: { $0.count > 1000 }) || selected.reduce(0, { $0 + $1.count }) > 1000 {
            throw ValidationError("at most 1,000 events can be named: use conditions")
        }
    }

    private var selected: [ClosedRange<Int64>] { events.compactMap { EventSelection($0)?.events } }

    /// Carries the repair out and says how it went.
    func run(_ action: RepairDesk.Action, note: String?) async throws {
        let reader = try service.reader(database)
        let options = try ConnectionOptions(DatabaseSettings(reader), command: action.rawValue)
        let connection = try await Connection.open(options, logger: try Logger.service(action.rawValue, reader))
        let desk = RepairDesk(connection: connection, action: action, note: note)
        let report = RepairReport(action: action, isJSON: json, isTerminal: StandardOutput.isTerminal)
        do {
            let isComplete =
                if events.isEmpty {
                    try await repair(at: desk, report)
                } else {
                    try await repairNamed(at: desk, report)
                }
            await connection.close()
            if !isComplete { throw ExitCode.failure }
        } catch let error as PostgresError where error.sqlState?.conditionClass == "22" {
            await connection.close()
            throw ValidationError(error.message)
        } catch {
            await connection.close()
            throw error
        }
    }

    private func repairNamed(at desk: RepairDesk, _ report: RepairReport) async throws -> Bool {
        guard !dryRun else {
            report.counted(try await desk.existing(selected))
            return true
        }
        var repaired = 0
        var isComplete = true
        for event in selected.joined() {
            do throws(RepairDesk.Refusal) {
                try await desk.repair(event: event)
                repaired += 1
            } catch {
                report.refused(event: event, error.reason)
                isComplete = false
            }
        }
        report.repaired(repaired)
        return isComplete
    }

    private func repair(at desk: RepairDesk, _ report: RepairReport) async throws -> Bool {
        let count = try await desk.count(conditions.filter)
        if dryRun {
            report.counted(count)
            return true
        }
        guard count > 1000 else {
            report.repaired(try await desk.repairAtOnce(conditions.filter))
            return true
        }
        let repair = try await desk.request(conditions.filter)
        report.requested(repair, events: count)
        let progress = try await RepairFollower(desk: desk, report: report).follow(repair)
        return progress.state == "done"
    }
}
