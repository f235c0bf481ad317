import ArgumentParser
import Schema

/// `appstore-inbox endpoint`: the receivers of webhooks.
struct EndpointCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "endpoint",
        abstract: "Creates, shows, tests and changes endpoints, to which workers deliver webhooks.",
        discussion: """
            Needs a role with these privileges, such as appstore_operator. Exit codes: 0 done, 1 refused by the database, or a test was not \
            delivered, 2 wrong usage, 78 wrong settings.
            """,
        subcommands: [
            EndpointCreate.self, EndpointList.self, EndpointShow.self, EndpointSecret.self, EndpointTest.self, EndpointPause.self,
            EndpointResume.self, EndpointRotate.self, EndpointRemove.self,
        ]
    )
}

/// Options that the commands for endpoints share.
struct EndpointOptions: ParsableArguments, JSONOptions {
    @Flag(help: "Print JSON.") var json = false
    @OptionGroup(title: "Settings") var database: DatabaseOptions
    @OptionGroup(title: "Settings") var service: ServiceOptions

    /// Calls the body with the register of endpoints, on a connection of its own.
    func withRegister<Value: Sendable>(_ body: (EndpointRegister) async throws -> Value) async throws -> Value {
        let reader = try service.reader(database)
        let operating = SchemaExpectation(role: "appstore_operator", function: "make_endpoint")
        // Turning the feed on reads the whole ledger.
        return try await CommandConnection.with(reader, command: "endpoint", operating, deadline: .seconds(3600)) {
            try await body(EndpointRegister(connection: $0))
        }
    }
}
