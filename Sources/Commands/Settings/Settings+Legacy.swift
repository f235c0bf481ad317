import Interpretation

/// The settings for receipts and notifications V1.
extension Settings {
    static let sharedSecretsDirectory = Setting(
        "shared-secrets-directory",
        value: "PATH",
        default: nil,
        summary: "a folder with a file for each app, named as its bundle id: one shared secret a line, first the one for verifyReceipt",
        parse: SettingValue.nonEmpty
    )
    static let sharedSecrets = Setting(
        "shared-secrets",
        value: "bundleId=secret,…",
        default: nil,
        isSecret: true,
        summary: "the same in one text, one item for each secret; better from files than from a flag that ps(1) shows",
        parse: SettingValue.sharedSecrets
    )
    static let sharedSecretsFile = Setting(
        "shared-secrets-file",
        value: "PATH",
        default: nil,
        summary: "a file that holds the shared-secrets",
        parse: SettingValue.nonEmpty
    )
    static let legacyBodyLimit = Setting(
        "legacy-body-limit",
        value: "bytes",
        default: "4194304",
        summary: "the largest notification V1, and the largest body of POST /v1/receipts, for which 4128768 is the most",
        parse: SettingValue.integer(in: 16_384...4_194_304)
    )
    static let verifyReceipt = Setting(
        "verify-receipt",
        value: "apple|local",
        default: "apple",
        summary: "apple calls verifyReceipt for receipts of apps that have a shared secret; local never does",
        parse: SettingValue.choice(VerifyReceiptMode.self)
    )
    static let verifyReceiptURL = Setting(
        "verify-receipt-url",
        value: "URL",
        default: "https://buy.itunes.apple.com/verifyReceipt",
        summary: "the verifyReceipt endpoint that is called first; http on this machine only",
        parse: SettingValue.verifyReceiptURL
    )
    static let verifyReceiptSandboxURL = Setting(
        "verify-receipt-sandbox-url",
        value: "URL",
        default: "https://sandbox.itunes.apple.com/verifyReceipt",
        summary: "the verifyReceipt endpoint for receipts of the sandbox",
        parse: SettingValue.verifyReceiptURL
    )
    static let outboundRoots = Setting(
        "outbound-roots",
        value: "PATH,…",
        default: "",
        summary: "certificates in PEM trusted in addition to the system's for outbound TLS, for tests",
        parse: SettingValue.paths
    )

    /// The secrets, for both daemons: ingest compares them, the worker sends them to verifyReceipt.
    static let secrets = [sharedSecretsDirectory.description, sharedSecrets.description, sharedSecretsFile.description]
    static let outbound = [verifyReceiptURL.description, verifyReceiptSandboxURL.description, outboundRoots.description]
}
