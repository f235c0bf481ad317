import HTTPServing

/// The setting that gives a listener its address.
struct ListenerSetting: Sendable {
    private let setting: SettingDescription
    let address: ListenAddress

    init<Value>(_ setting: Setting<Value>, _ address: ListenAddress) {
        self.setting = setting.description
        self.address = address
    }

    /// The flag and the variable, for messages.
    var name: String { "\(setting.flag) (\(setting.variable))" }

    /// Checks that each listener has an address of its own.
    ///
    /// - Throws: ``SettingsError`` that names both settings.
    static func check(_ listeners: [ListenerSetting]) throws(SettingsError) {
        for (index, second) in listeners.enumerated() where !second.address.isAnyPort {
            guard let first = listeners[..<index].first(where: { $0.address == second.address }) else { continue }
            throw SettingsError(["\(first.name) and \(second.name) have the same address \(second.address)"])
        }
    }
}
