import ArgumentParser

/// `appstore-inbox endpoint rotate`: gives an endpoint a new secret.
struct EndpointRotate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Gives an endpoint a new secret and prints it. For 24 hours each webhook is signed with the old and the new one."
    )

    @Argument(help: "The endpoint's name.") var name: String
    @OptionGroup(title: "Settings") var secrets: WebhookSecretOptions
    @OptionGroup var options: EndpointOptions

    func run() async throws {
        let masters = try options.service.reader(options.database, secrets).commandMasters()
        if case .unreadable(let reason) = masters { throw SettingsError(["\(reason): run this as a user who may read it"]) }
        let endpoint = try await options.withRegister { register in
            _ = try await register.endpoint(name)
            _ = try await register.rotate(name)
            return try await register.endpoint(name)
        }
        if !options.json { LogOutput.standardError.write("the old secret and this one are valid for 24 hours: give it to the receiver\n") }
        try masters.printSecret(of: endpoint, options)
    }
}
