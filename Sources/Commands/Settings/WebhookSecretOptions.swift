import ArgumentParser

/// `--webhook-secret`, `--webhook-secret-file`, for the worker and the commands for endpoints.
struct WebhookSecretOptions: SettingsOptions {
    @Option(help: Settings.webhookSecret.description.help) private var webhookSecret: String?
    @Option(help: Settings.webhookSecretFile.description.help, completion: .file()) private var webhookSecretFile: String?

    init() {}

    var flags: [String: String] {
        Self.collect(["webhook-secret": webhookSecret, "webhook-secret-file": webhookSecretFile])
    }
}
