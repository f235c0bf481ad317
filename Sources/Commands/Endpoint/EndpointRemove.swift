import ArgumentParser
import StrictJSON

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
