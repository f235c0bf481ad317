import FoundationEssentials
import StrictJSON

/// Delivers the entry `test` to an endpoint and waits for what its receiver says.
enum TestDelivery {
    struct Outcome: Sendable {
        /// Nil when no worker has tried within ``TestDelivery/longestWait``.
        let attempt: DeliveryAttempt?

        var isDelivered: Bool { attempt?.isDelivered ?? false }

        var words: String { attempt?.words ?? TestDelivery.silence }

        var json: JSONObject { attempt?.json ?? ["result": .null, "error": .string(TestDelivery.silence)] }
    }

    static let longestWait: Duration = .seconds(30)
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
struct PausedEndpoint: Error, CustomStringConvertible {
    let endpoint: Endpoint

    var description: String { "\(endpoint.name) is \(endpoint.condition). Run appstore-inbox endpoint resume \(endpoint.name)" }
}
