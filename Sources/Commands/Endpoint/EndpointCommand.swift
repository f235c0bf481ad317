import ArgumentParser
import FoundationEssentials
import Schema
import StrictJSON

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

/// `appstore-inbox endpoint list`: lists the endpoints.
struct EndpointList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists the endpoints, their state and how far they are; with --json one object a line."
    )

    @OptionGroup var options: EndpointOptions

    func run() async throws {
        let endpoints = try await options.withRegister { try await $0.all() }
        let head = ["NAME", "STATE", "LAG", "OPEN", "GIVEN UP", "DELIVERED LAST", "URL"]
        let rows = endpoints.map { endpoint in
            [
                endpoint.name, endpoint.isProbed ? "failing" : endpoint.state, "\(endpoint.lag)", "\(endpoint.open)",
                "\(endpoint.givenUp)", endpoint.succeededAt.map { "\($0)" } ?? "never", endpoint.url.onOneLineSafely,
            ]
        }
        options.print(endpoints.map(\.json), head, rows, none: "There are no endpoints.")
    }
}

/// `appstore-inbox endpoint show`: one endpoint and its latest deliveries.
struct EndpointShow: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Shows an endpoint: what it gets, its state and its latest deliveries."
    )

    @Argument(help: "The endpoint's name.") var name: String
    @Option(help: "How many deliveries, 0 to 1000.") var last = 10
    @OptionGroup var options: EndpointOptions

    func validate() throws {
        guard (0...1000).contains(last) else { throw ValidationError("--last must be 0 to 1000, not \(last)") }
    }

    func run() async throws {
        let (endpoint, attempts) = try await options.withRegister { register in
            (try await register.endpoint(name), try await register.attempts(name, most: last))
        }
        var object = endpoint.json
        object["attempts"] = .array(attempts.map { .object($0.json) })
        options.print(object, Self.text(endpoint, attempts))
    }

    private static func text(_ endpoint: Endpoint, _ attempts: [DeliveryAttempt]) -> String {
        let order = endpoint.keepsOrder ? "in the order of each contract" : "in any order"
        let rate = endpoint.maximumPerSecond.map { ", \($0) a second" } ?? ""
        var rows = [
            ["state", endpoint.condition.onOneLineSafely],
            ["url", endpoint.url.onOneLineSafely],
            ["gets", endpoint.scope.onOneLineSafely],
            ["how", "\(endpoint.maximumInFlight) at once\(rate), \(order), within \(endpoint.timeout) s"],
            ["position", "\(endpoint.position), \(endpoint.lag) entries behind"],
            ["undelivered", "\(endpoint.open) failed or wait, \(endpoint.givenUp) given up"],
            ["delivered last", endpoint.succeededAt.map { "\($0)" } ?? "never"],
            ["secret", "generation \(endpoint.secretGeneration)" + (endpoint.hasPreviousSecret ? "; the previous one signs, too" : "")],
        ]
        if let error = endpoint.lastError { rows.append(["last error", error.onOneLineSafely]) }
        let deliveries = attempts.map { attempt in
            ["\(attempt.at)", attempt.type ?? "-", "#\(attempt.position)", attempt.words]
        }
        return (Columns.lines(rows) + (deliveries.isEmpty ? [] : ["", "The latest deliveries:"]) + Columns.lines(deliveries))
            .joined(separator: "\n")
    }
}

/// `appstore-inbox endpoint pause`: stops deliveries to an endpoint.
struct EndpointPause: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Delivers nothing to an endpoint until it is resumed. Nothing is lost while the feed keeps the entries."
    )

    @Argument(help: "The endpoint's name.") var name: String
    @Option(help: "Why, for those who look at it later.") var note: String?
    @OptionGroup var options: EndpointOptions

    func run() async throws {
        let endpoint = try await options.withRegister { register in
            _ = try await register.endpoint(name)
            try await register.pause(name, why: note)
            return try await register.endpoint(name)
        }
        options.print(endpoint.json, "\(name) is paused after position \(endpoint.position).")
    }
}

/// `appstore-inbox endpoint resume`: goes on with deliveries to an endpoint.
struct EndpointResume: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Goes on with an endpoint that is paused, disabled or behind, or that is only probed since it failed too often.",
        discussion: """
            It goes on where it stood, with all that it has missed. An endpoint that is behind has missed entries that have aged: name a \
            position that the feed still has, and let the receiver read appstore.entitlements.
            """
    )

    @Argument(help: "The endpoint's name.") var name: String
    @Option(help: ArgumentHelp("Leave out what is up to this position.", valueName: "position")) var after: Int64?
    @Flag(help: "Leave out everything up to now.") var fromNow = false
    @OptionGroup var options: EndpointOptions

    func validate() throws {
        if after != nil && fromNow { throw ValidationError("--after and --from-now exclude each other") }
        if let after, after < 0 { throw ValidationError("--after must be 0 or more, not \(after)") }
    }

    func run() async throws {
        let endpoint = try await options.withRegister { register in
            let old = try await register.endpoint(name)
            try await register.resume(name, after: fromNow ? old.position + old.lag : after)
            return try await register.endpoint(name)
        }
        options.print(endpoint.json, "\(name) goes on after position \(endpoint.position), \(endpoint.lag) entries behind.")
    }
}

/// `appstore-inbox endpoint remove`: removes an endpoint.
struct EndpointRemove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Removes an endpoint with its secret and its undelivered entries. One that is created again has another secret."
    )

    @Argument(help: "The endpoint's name.") var name: String
    @OptionGroup var options: EndpointOptions

    func run() async throws {
        try await options.withRegister { register in
            _ = try await register.endpoint(name)
            try await register.remove(name)
        }
        options.print(["name": .string(name), "removed": true], "\(name) is removed.")
    }
}

/// `appstore-inbox endpoint test`: delivers a test.
struct EndpointTest: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Delivers an entry of the type test, and prints what the receiver answered.",
        discussion: "Waits up to 30 seconds. Exit codes: 0 delivered, 1 not delivered or refused, 2 wrong usage, 78 wrong settings."
    )

    @Argument(help: "The endpoint's name.") var name: String
    @OptionGroup var options: EndpointOptions

    func run() async throws {
        let outcome = try await options.withRegister { register in
            let endpoint = try await register.endpoint(name)
            return try await TestDelivery.run(endpoint, register) { line in
                if !options.json { StandardOutput.write(line + "\n") }
            }
        }
        if options.json { options.print(outcome.json, "") }
        if !outcome.isDelivered { throw ExitCode.failure }
    }
}

/// Delivers the entry `test` to an endpoint and waits for what its receiver says.
enum TestDelivery {
    struct Outcome: Sendable {
        /// Nil when no worker has tried within ``TestDelivery/longestWait``.
        let attempt: DeliveryAttempt?

        var isDelivered: Bool { attempt?.isDelivered ?? false }

        var words: String { attempt?.words ?? TestDelivery.silence }

        var json: JSONObject { attempt?.json ?? ["result": .null, "error": .string(TestDelivery.silence)] }
    }

    private static let longestWait: Duration = .seconds(30)
    private static let pause: Duration = .milliseconds(200)
    private static let silence = """
        no worker has tried within 30 s: is one running, with the same webhook secret (journalctl -u appstore-inbox-worker), or does an earlier \
        delivery fail (appstore-inbox endpoint show)?
        """

    /// - Parameter say: prints a line.
    /// - Throws: `PausedEndpoint` where nothing is delivered to the endpoint.
    static func run(_ endpoint: Endpoint, _ register: EndpointRegister, say: (String) -> Void) async throws -> Outcome {
        guard endpoint.state == "enabled" else { throw PausedEndpoint(endpoint: endpoint) }
        let id = try await register.test(endpoint.name)
        say("test \(id.uuidString.lowercased()) to \(endpoint.url.onOneLineSafely)")
        let deadline = ContinuousClock.now + longestWait
        var found: DeliveryAttempt?
        while found == nil, ContinuousClock.now < deadline {
            try await Task.sleep(for: pause)
            found = try await register.attempts(endpoint.name, ofEntry: id, most: 1).first
        }
        let outcome = Outcome(attempt: found)
        say("test: \(outcome.words)")
        return outcome
    }
}

/// An endpoint to which nothing is delivered.
private struct PausedEndpoint: Error, CustomStringConvertible {
    let endpoint: Endpoint

    var description: String { "\(endpoint.name) is \(endpoint.condition). Run appstore-inbox endpoint resume \(endpoint.name)" }
}
