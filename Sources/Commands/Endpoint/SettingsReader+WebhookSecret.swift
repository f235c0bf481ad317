import Webhooks

extension SettingsReader {
    /// Where the units load the webhook secret from. The commands read it there, too, unless a setting names another place.
    static let usualWebhookSecret = "/etc/appstore-inbox/webhook-secret"

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
    static let denial = "permission denied"

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
