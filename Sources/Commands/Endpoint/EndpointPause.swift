import ArgumentParser

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
