import ArgumentParser
import StrictJSON

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
