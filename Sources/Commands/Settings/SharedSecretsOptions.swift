import ArgumentParser

/// `--shared-secrets-directory`, `--shared-secrets`, `--shared-secrets-file`, for both daemons.
struct SharedSecretsOptions: SettingsOptions {
    @Option(help: Settings.sharedSecretsDirectory.description.help, completion: .directory) private var sharedSecretsDirectory: String?
    @Option(help: Settings.sharedSecrets.description.help) private var sharedSecrets: String?
    @Option(help: Settings.sharedSecretsFile.description.help, completion: .file()) private var sharedSecretsFile: String?

    init() {}

    var flags: [String: String] {
        Self.collect([
            "shared-secrets-directory": sharedSecretsDirectory, "shared-secrets": sharedSecrets, "shared-secrets-file": sharedSecretsFile,
        ])
    }
}
