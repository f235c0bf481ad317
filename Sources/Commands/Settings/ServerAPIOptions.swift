import ArgumentParser

/// The options for Apple's App Store Server API, for the worker and `doctor`.
struct ServerAPIOptions: SettingsOptions {
    @Option(help: Settings.apiKeysDirectory.description.help, completion: .directory) private var apiKeysDirectory: String?
    @Option(help: Settings.apiIssuers.description.help) private var apiIssuers: String?
    @Option(help: Settings.apiProductionURL.description.help) private var apiProductionURL: String?
    @Option(help: Settings.apiSandboxURL.description.help) private var apiSandboxURL: String?
    @Option(help: Settings.apiBudget.description.help) private var apiBudget: String?

    @Option(help: Settings.apiImportRequests.description.help) private var apiImportRequests: String?

    init() {}

    var flags: [String: String] {
        Self.collect([
            "api-keys-directory": apiKeysDirectory, "api-issuers": apiIssuers, "api-production-url": apiProductionURL,
            "api-sandbox-url": apiSandboxURL, "api-budget": apiBudget, "api-import-requests": apiImportRequests,
        ])
    }
}
