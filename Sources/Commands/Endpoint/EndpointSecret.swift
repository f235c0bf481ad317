import ArgumentParser
import StrictJSON
import Webhooks

/// `appstore-inbox endpoint secret`: prints an endpoint's secret.
struct EndpointSecret: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secret",
        abstract: "Prints an endpoint's secret (whsec_…) on standard output, and its public key for ed25519 (whpk_…) on standard error.",
        discussion: "It is derived from the webhook secret, which this command must be able to read; with --json both are in one object."
    )

    @Argument(help: "The endpoint's name.") var name: String
    @OptionGroup(title: "Settings") var secrets: WebhookSecretOptions
    @OptionGroup var options: EndpointOptions

    func run() async throws {
        let masters = try options.service.reader(options.database, secrets).commandMasters()
        let endpoint = try await options.withRegister { try await $0.endpoint(name) }
        try masters.printSecret(of: endpoint, options)
    }
}

extension FoundMasters {
    func printSecret(of endpoint: Endpoint, _ options: EndpointOptions) throws {
        let secret = try secret(of: endpoint)
        if !options.json { LogOutput.standardError.write("the public key for ed25519 is \(secret.publicKey)\n") }
        options.print(
            [
                "name": .string(endpoint.name), "secret": .string(secret.symmetric), "publicKey": .string(secret.publicKey),
                "generation": .integer(endpoint.secretGeneration),
            ],
            secret.symmetric
        )
    }
}
