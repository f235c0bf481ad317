import ArgumentParser
import Feed
import StrictJSON

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
    fileprivate func printSecret(of endpoint: Endpoint, _ options: EndpointOptions) throws {
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

extension SettingsReader {
    /// Where the units load the webhook secret from. The commands read it there, too, unless a setting names another place.
    private static let usualWebhookSecret = "/etc/appstore-inbox/webhook-secret"

    /// The texts from which an operator's command derives secrets; or why it may not read them, which is no mistake: the worker may.
    ///
    /// - Throws: ``SettingsError`` when there is none, or it is wrong.
    func commandMasters() throws(SettingsError) -> FoundMasters {
        do throws(SettingsError) {
            if let masters = try optional(Settings.webhookSecret) { return .found(masters) }
        } catch {
            guard let problem = error.problems.first, problem.hasSuffix(FoundMasters.denial) else { throw error }
            return .unreadable(problem)
        }
        let path = Self.usualWebhookSecret
        let text: String
        do throws(ReadableFile.Unreadable) {
            text = String(decoding: try ReadableFile.bytes(at: path), as: UTF8.self)
        } catch {
            guard error.isMissing else { return .unreadable("\(path) cannot be read: \(error)") }
            throw SettingsError([
                """
                there is no webhook secret, from which the secrets of endpoints are derived: neither a setting names one, nor is there \(path).
                Make one that the operators of your group may read, and let the unit of the worker load it:
                  openssl rand -base64 48 | sudo install -m 640 -g "$(id -gn)" /dev/stdin \(path)
                """
            ])
        }
        do {
            return .found(try SettingValue.webhookMasters(text))
        } catch {
            throw SettingsError(["\(path): \(error.expectation)"])
        }
    }
}

/// The texts from which secrets are derived, as a command finds them.
enum FoundMasters: Sendable {
    case found(WebhookMasters)
    /// The command may not read them.
    case unreadable(String)

    /// How the message of a file ends that the user may not read.
    fileprivate static let denial = "permission denied"

    /// The secret of an endpoint.
    ///
    /// - Throws: ``SettingsError`` where the texts cannot be read.
    func secret(of endpoint: Endpoint) throws -> WebhookSecret {
        switch self {
        case .unreadable(let reason): throw SettingsError(["\(reason): run this as a user who may read it"])
        case .found(let masters): return masters.secrets(endpointID: endpoint.id, generation: Int(endpoint.secretGeneration))[0]
        }
    }
}
