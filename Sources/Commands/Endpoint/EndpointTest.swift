import ArgumentParser

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
