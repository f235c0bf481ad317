import ArgumentParser
import Postgres
import StrictJSON

/// `appstore-inbox history walk`: reads from an earlier day on.
struct HistoryWalkSince: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "walk",
        abstract: "Lets the workers read the history from an earlier day on. They begin with the last 30 days.",
        discussion: """
            Apple keeps 180 days, in Sandbox 30. A day with 100,000 notifications takes 5,000 requests, and up to 2 GB if none was pushed. With \
            --json each line is {"bundleId", "environment", "windows"}.
            """
    )

    @Option(help: ArgumentHelp("From this instant on, such as 2026-01-31T00:00:00Z.", valueName: "INSTANT")) var since: String
    @OptionGroup var options: HistoryOptions

    func validate() throws {
        _ = try instant()
    }

    private func instant() throws -> PostgresTimestamp {
        guard let instant = PostgresTimestamp(instant: since) else {
            throw ValidationError("--since must be an instant such as 2026-01-31T00:00:00Z, not \(since.quotedUnlessSecret)")
        }
        return instant
    }

    func run() async throws {
        let instant = try instant()
        for (app, windows) in try await options.withRegister(changing: true, { try await $0.walk(since: instant) }) {
            options.print(
                ["bundleId": .string(app.bundleID), "environment": .string(app.environment), "windows": .integer(windows)],
                "\(app.bundleID.onOneLineSafely) \(app.environment): "
                    + (windows > 0 ? "\(windows) windows to read" : "nothing to do, it is read since \(app.since)")
            )
        }
    }
}
