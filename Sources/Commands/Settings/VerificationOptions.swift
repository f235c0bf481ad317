import ArgumentParser
import Interpretation

/// The options that decide which events count, for the worker and `explain`.
struct VerificationOptions: SettingsOptions {
    @Option(help: Settings.apps.description.help) private var apps: String?
    @Option(help: Settings.environments.description.help, completion: .environments) private var environments: String?
    @Option(help: Settings.extraRoots.description.help, completion: .file()) private var extraRoots: String?
    @Option(help: Settings.verifyReceipt.description.help, completion: .values(of: VerifyReceiptMode.self)) private var verifyReceipt:
        String?
    @OptionGroup private var secrets: SharedSecretsOptions

    init() {}

    var flags: [String: String] {
        Self.collect([
            "apps": apps, "environments": environments, "extra-roots": extraRoots, "verify-receipt": verifyReceipt,
        ]).merging(secrets.flags) { $1 }
    }
}
