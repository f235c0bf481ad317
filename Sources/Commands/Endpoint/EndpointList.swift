import ArgumentParser

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
