import ArgumentParser
import Feed
import StrictJSON

/// `appstore-inbox endpoint create`: makes an endpoint, prints its secret and delivers a test.
struct EndpointCreate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Creates an endpoint that gets what changes from now on, prints its secret, and delivers a test.",
        discussion: """
            Turns the feed on where it is off. Standard output gets the secret alone (whsec_…), standard error the rest; with --json one \
            object has everything. `endpoint secret` prints the secret again. The test waits up to 30 seconds for a worker. The receiver \
            needs the secret first where it verifies signatures: then use --no-test, and `endpoint test` later.

            Types: \(FeedType.all.joined(separator: ", ")). effect.* stands for all that begin so. Without --type it gets all but test, \
            endpoint.disabled, inbox.failed and those of notifications.

            Exit codes: 0 created, and the test was delivered, 1 refused, or the test was not delivered to the endpoint, which is there, \
            2 wrong usage, 78 wrong settings, or no webhook secret.
            """
    )

    @Argument(help: "The endpoint's name: lower-case letters, digits and . _ -, first a letter.") var name: String
    @Argument(help: "Where webhooks are posted: https://HOST/PATH, or http to this machine or a private network.") var url: String
    @Option(help: "event (JSON) or raw (Apple's notifications as they came).", completion: .values(of: Endpoint.Format.self))
    var format = Endpoint.Format.event
    @Option(
        name: .customLong("type"),
        help: "A type that it gets, or a pattern such as effect.*; may be given several times (default: the usual ones).",
        completion: .list(FeedType.words)
    )
    var types: [String] = []
    @Option(name: .customLong("app"), help: "An app's bundle id; may be given several times (default: any app).") var apps: [String] = []
    @Option(
        name: .customLong("environment"),
        help: "Production or Sandbox; may be given several times (default: both).",
        completion: .environments
    )
    var environments: [String] = []
    @Flag(help: "With --format raw: also genuine notifications of apps that are not configured here.") var withWrongBundle = false
    @Flag(help: "Do not wait for the delivery of an earlier entry of the same contract.") var noOrder = false
    @Option(help: "Deliveries at once, 1 to 64.") var maxInFlight: Int32 = 8
    @Option(help: "Deliveries in a second (default: no limit).") var maxPerSecond: Int32?
    @Option(help: ArgumentHelp("How long the receiver may take to answer, 1 to 60.", valueName: "seconds")) var timeout: Int32 = 15
    @Flag(help: "Do not deliver a test.") var noTest = false
    @OptionGroup(title: "Settings") var secrets: WebhookSecretOptions
    @OptionGroup var options: EndpointOptions

    func validate() throws {
        guard name.wholeMatch(of: /[a-z][a-z0-9_.-]{0,62}/) != nil else {
            throw ValidationError("a name has 1 to 63 lower-case letters, digits and . _ -, first a letter, not \(name.quotedUnlessSecret)")
        }
        do { _ = try EndpointURL(url) } catch { throw ValidationError("\(error)") }
        for type in types { try KnownWords.feedTypes.check(type) }
        for environment in environments { try KnownWords.environments.check(environment) }
        for app in apps where !SettingValue.isBundleID(app) {
            throw ValidationError("--app must be a bundle id, not \(app.quotedUnlessSecret)")
        }
        if format == .raw && !types.isEmpty { throw ValidationError("--format raw forwards notifications of all types: leave out --type") }
        if format == .event && withWrongBundle { throw ValidationError("--with-wrong-bundle needs --format raw") }
        guard (1...64).contains(maxInFlight) else { throw ValidationError("--max-in-flight must be 1 to 64, not \(maxInFlight)") }
        if let maxPerSecond, maxPerSecond < 1 { throw ValidationError("--max-per-second must be 1 or more, not \(maxPerSecond)") }
        guard (1...60).contains(timeout) else { throw ValidationError("--timeout must be 1 to 60, not \(timeout)") }
    }

    func run() async throws {
        let masters = try options.service.reader(options.database, secrets).commandMasters()
        let isGood = try await options.withRegister { register in
            if try await !register.isFeedOn() {
                say("the feed was off; it is being turned on, which reads the whole ledger")
                say("the feed is on, in generation \(try await register.enableFeed())")
            }
            try await register.make(endpoint)
            let made = try await register.endpoint(name)
            say("endpoint \(name) gets what follows position \(made.position)")
            let secret = try show(masters, made)
            let test = noTest ? nil : try await TestDelivery.run(made, register) { say($0) }
            if options.json { options.print(json(made, secret, test), "") }
            return test?.isDelivered ?? true
        }
        if !isGood { throw ExitCode.failure }
    }

    private var endpoint: NewEndpoint {
        NewEndpoint(
            name: name,
            url: url,
            format: format,
            types: types.isEmpty ? nil : types,
            apps: apps.isEmpty ? nil : apps,
            environments: environments.isEmpty ? nil : environments,
            withWrongBundle: withWrongBundle,
            keepsOrder: !noOrder,
            maximumInFlight: maxInFlight,
            maximumPerSecond: maxPerSecond,
            timeout: timeout
        )
    }

    /// Prints the secret, before the test, so that a receiver which reads it from there can verify the test.
    private func show(_ masters: FoundMasters, _ made: Endpoint) throws -> WebhookSecret? {
        guard case .found = masters else {
            if case .unreadable(let reason) = masters { say("the secret is not shown: \(reason)") }
            return nil
        }
        let secret = try masters.secret(of: made)
        if !options.json {
            say("its secret follows; the public key for ed25519 is \(secret.publicKey)")
            StandardOutput.write(secret.symmetric + "\n")
        }
        return secret
    }

    private func json(_ made: Endpoint, _ secret: WebhookSecret?, _ test: TestDelivery.Outcome?) -> JSONObject {
        [
            "endpoint": .object(made.json), "secret": .optional(secret?.symmetric), "publicKey": .optional(secret?.publicKey),
            "test": .optional(test?.json),
        ]
    }

    private func say(_ line: String) {
        LogOutput.standardError.write(line + "\n")
    }
}

extension Endpoint.Format: ExpressibleByArgument {}

/// What `endpoint create` asks for.
struct NewEndpoint: Sendable {
    let name: String
    let url: String
    let format: Endpoint.Format
    /// Nil for the usual ones.
    let types: [String]?
    /// Nil for any.
    let apps: [String]?
    /// Nil for both.
    let environments: [String]?
    let withWrongBundle: Bool
    let keepsOrder: Bool
    let maximumInFlight: Int32
    /// Nil for no limit.
    let maximumPerSecond: Int32?
    /// Seconds.
    let timeout: Int32
}
