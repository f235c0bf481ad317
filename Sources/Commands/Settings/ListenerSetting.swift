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

    /// A sentence for each pair of listeners with the same address.
    static func conflicts(_ listeners: [ListenerSetting]) -> [String] {
        listeners.indices.flatMap { index in
            let second = listeners[index]
            return listeners[..<index].filter { $0.address.description == second.address.description && !second.address.isAnyPort }.map {
                first in
                "\(first.name) and \(second.name) have the same address \(second.address)"
            }
        }
    }
}
