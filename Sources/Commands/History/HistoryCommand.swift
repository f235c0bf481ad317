import ArgumentParser
import Postgres
import Schema
import StrictJSON

/// `appstore-inbox history`: what Apple's notification history lists, and how far workers have read it.
struct HistoryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "Shows how far Apple's notification history was read, and what it had that was never pushed.",
        discussion: """
            Workers that have an In-App Purchase key read the history of their apps by themselves. Showing needs a role that may read, such as \
            appstore_viewer; walk and mode need appstore_operator. Exit codes: 0 done, 1 refused by the database, or there is no such app, 2 wrong \
            usage, 78 wrong settings.
            """,
        subcommands: [HistoryStatus.self, HistoryGaps.self, HistoryWalkSince.self, HistorySetMode.self]
    )
}

/// Options that the commands for the history share.
struct HistoryOptions: ParsableArguments, JSONOptions {
    @Option(help: "Only this app, by its bundle id.") var app: String?
    @Option(help: "Only Production or Sandbox.", completion: .environments) var environment: String?
    @Flag(help: "Print JSON, one object a line.") var json = false
    @OptionGroup(title: "Settings") var database: DatabaseOptions
    @OptionGroup(title: "Settings") var service: ServiceOptions

    func validate() throws {
        if let environment, !KnownWords.environments.words.contains(environment) {
            throw ValidationError("--environment is Production or Sandbox, not \(environment.quotedUnlessSecret)")
        }
    }

    /// Calls the body with the history of the chosen apps, on a connection of its own.
    func withRegister<Value: Sendable>(changing: Bool = false, _ body: (HistoryRegister) async throws -> Value) async throws -> Value {
        let reader = try service.reader(database)
        let operating = SchemaExpectation(role: "appstore_operator", function: "set_history_mode")
        return try await CommandConnection.with(reader, command: "history", changing ? operating : .viewer) {
            try await body(HistoryRegister(connection: $0, app: app, environment: environment))
        }
    }
}

/// `appstore-inbox history status`: shows until when the history was read.
struct HistoryStatus: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows, of each app and environment, until when the history was read without a hole, and its records by class."
    )

    @OptionGroup var options: HistoryOptions

    func run() async throws {
        let apps = try await options.withRegister { try await $0.coverage() }
        if apps.isEmpty, !options.json { return print("No worker has read the history of such an app.") }
        for app in apps { options.print(app.json, app.text) }
    }
}

/// `appstore-inbox history gaps`: shows what was not read yet, and why.
struct HistoryGaps: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gaps",
        abstract: "Lists the windows of the history that are not complete, and why; those that have failed longest first."
    )

    @Option(help: "How many at most.") var most = 50
    @OptionGroup var options: HistoryOptions

    func validate() throws {
        if most < 1 { throw ValidationError("--most must be at least 1") }
    }

    func run() async throws {
        let gaps = try await options.withRegister { try await $0.gaps(most: most) }
        options.print(gaps.map(\.json), HistoryGap.head, gaps.map(\.cells), none: "There are no gaps.")
    }
}

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

/// `appstore-inbox history mode`: sets how the history is read.
struct HistorySetMode: AsyncParsableCommand {
    enum Mode: String, CaseIterable, ExpressibleByArgument {
        case walk, beside, off
    }

    static let configuration = CommandConfiguration(
        commandName: "mode",
        abstract: "Sets how the history is read: walk, beside or off.",
        discussion: """
            beside is a trial while another service owns the URL: the history is read every minute, and it is no alarm that the other service took \
            a notification. off asks Apple nothing; walk goes on where it ended. Without --app and --environment it holds for all.
            """
    )

    @Argument(help: "walk, beside or off.") var mode: Mode
    @OptionGroup var options: HistoryOptions

    func run() async throws {
        for app in try await options.withRegister(changing: true, { try await $0.setMode(mode.rawValue) }) {
            options.print(app.json, "\(app.bundleID.onOneLineSafely) \(app.environment): \(app.mode)")
        }
    }
}
