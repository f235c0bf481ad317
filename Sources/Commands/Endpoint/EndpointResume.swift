import ArgumentParser

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
