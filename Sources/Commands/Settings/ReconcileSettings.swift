import AppStore

/// Which contracts Apple is asked about when they look stale; the raw value is the setting's.
enum ReconcileMode: String, CaseIterable, Sendable {
    case production
    /// Sandbox, too: its contracts can vanish, since testers clear their accounts.
    case all
    case off

    var environments: Set<AppStoreEnvironment> {
        switch self {
        case .production: [.production]
        case .all: [.production, .sandbox]
        case .off: []
        }
    }
}

/// The settings of the reconciliation.
struct ReconcileSettings: Sendable {
    let mode: ReconcileMode
    /// Active contracts of each app a day.
    let sample: Int

    /// - Throws: ``SettingsError`` with the first thing that is wrong.
    init(_ reader: SettingsReader) throws(SettingsError) {
        mode = try reader.required(Settings.reconcile)
        sample = try reader.required(Settings.reconcileSample)
    }
}

extension Settings {
    static let reconcile = Setting(
        "reconcile",
        value: "production|all|off",
        default: "production",
        summary:
            "whether Apple is asked about contracts that look stale, of apps that have a key: those of Production, of Sandbox too, or none",
        parse: SettingValue.choice(ReconcileMode.self)
    )
    static let reconcileSample = Setting(
        "reconcile-sample",
        value: "0…1000",
        default: "100",
        summary: "how many active contracts of each app are compared with Apple's answer a day, chosen at random",
        parse: SettingValue.integer(in: 0...1000)
    )
}
