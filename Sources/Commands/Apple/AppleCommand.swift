import ArgumentParser
import Postgres
import Schema

/// `appstore-inbox apple`: asks the App Store Server API.
struct AppleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apple",
        abstract: "Asks Apple about a transaction, customer or order, extends subscriptions, and lets Apple send a test.",
        discussion: """
            The command writes a call, which a worker with an In-App Purchase key of the app makes, and waits for the answer. Signed \
            transactions of an answer become events. Needs a role with these privileges, such as appstore_operator; repeating a question that \
            is open joins it. Exit codes: 0 Apple answered, 1 refused by Apple or the database, or given up, 2 wrong usage, 3 no answer \
            within --wait: the call goes on, and "apple call" shows it, 78 wrong settings.
            """,
        subcommands: [
            AppleAsk.self, AppleCall.self, AppleExtend.self, AppleExtendAll.self, AppleExtendStatus.self, AppleSetToken.self,
            AppleFinish.self,
        ]
    )
}

/// Options that the commands for Apple share.
struct AppleOptions: ParsableArguments, JSONOptions {
    /// The exit code while there is no answer.
    private static let stillOpen = ExitCode(3)
    private static let pause = Duration.milliseconds(200)

    @Option(help: ArgumentHelp("How long to wait for the answer, in seconds.", valueName: "SECONDS")) var wait = 30
    @Flag(help: "Print one JSON object, with the members of the HTTP API.") var json = false
    @OptionGroup(title: "Settings") var database: DatabaseOptions
    @OptionGroup(title: "Settings") var service: ServiceOptions

    func validate() throws {
        if !(0...3600).contains(wait) { throw ValidationError("--wait must be from 0 to 3600 seconds, not \(wait)") }
    }

    /// Writes a call with a statement that returns it, waits for the answer, and prints it.
    func run(_ statement: Statement) async throws {
        try await run { connection in try await connection.query(statement)[0].decode(0) }
    }

    /// Waits for the answer to a call and prints it.
    ///
    /// - Throws: an exit code unless Apple answered.
    func run(_ call: (Connection) async throws -> Int64) async throws {
        let reader = try service.reader(database)
        let operating = SchemaExpectation(role: "appstore_operator", function: "ask_apple")
        let report = try await CommandConnection.with(reader, command: "apple", operating) { connection in
            try await settled(try await call(connection), connection)
        }
        print(report.document, report.text(waited: wait))
        if report.isOpen { throw Self.stillOpen }
        if !report.isAnswered { throw ExitCode.failure }
    }

    /// The call when it and its events are settled, or the time is over.
    private func settled(_ call: Int64, _ connection: Connection) async throws -> AppleReport {
        let deadline = ContinuousClock.now + .seconds(wait)
        while true {
            let report = try await AppleReport.read(call, from: connection)
            if report.isSettled || ContinuousClock.now >= deadline { return report }
            try await Task.sleep(for: Self.pause)
        }
    }
}

/// Which app and environment a question is about.
struct ApplePlace: ParsableArguments {
    @Option(help: "The app's bundle id (default: that of the transaction, or the only app).") var app: String?
    @Option(
        help: "Production or Sandbox (default: that of a known transaction, else Production; a question tries Sandbox next).",
        completion: .environments
    )
    var environment: String?

    func validate() throws {
        if let environment { try KnownWords.environments.check(environment) }
    }
}
