import AppStoreVerification
import HTTPServing
import ServiceSupport

/// The settings of `appstore-inbox ingest`.
struct IngestSettings: Sendable {
    let database: DatabaseSettings
    /// Where notifications arrive.
    let listen: ListenAddress
    /// Where `/livez` and `/readyz` answer even when the first listener is full.
    let adminListen: ListenAddress
    /// The API for the shop's own backend; nil when it is off.
    let api: API?
    /// The secrets with which notifications V1 are authenticated.
    let sharedSecrets: SharedSecrets
    /// Bytes of the largest body on any listener, except on the paths of `legacyBodyLimit`.
    let bodyLimit: Int
    /// Bytes of the largest notification V1 and of the largest body with a receipt.
    let legacyBodyLimit: Int
    /// Bytes of bodies in memory at once. The API has a quarter of it in addition, and at least room for two of the largest receipts.
    let memoryLimit: Int
    let connectionLimit: Int
    let requestTimeout: Duration
    /// Bytes stored in an hour; nil means no limit.
    let hourlyByteLimit: Int?
    let shutdownTimeout: Duration

    /// - Parameter sockets: those of systemd, which take the place of the settings of listeners.
    /// - Throws: ``SettingsError`` with everything that is wrong.
    init(_ reader: SettingsReader, sockets: ListenSockets = ListenSockets()) throws(SettingsError) {
        try reader.requireValid(Settings.ingest, and: Self.contradictions(reader, sockets))
        database = try DatabaseSettings(reader)
        listen = if let socket = sockets[.notifications] { socket } else { try reader.required(Settings.listen) }
        adminListen = if let socket = sockets[.admin] { socket } else { try reader.required(Settings.adminListen) }
        if let listen = if let socket = sockets[.api] { socket } else { try reader.optional(Settings.apiListen) } {
            let standby = try reader.optional(Settings.apiStandbyURL)
            api = API(
                listen: listen,
                database: DatabaseSettings(url: try reader.required(Settings.apiDatabaseURL), like: database),
                standby: standby.map { [database] in DatabaseSettings(url: $0, like: database) }
            )
        } else {
            api = nil
        }
        sharedSecrets = try reader.sharedSecrets()?.secrets ?? SharedSecrets()
        bodyLimit = try reader.required(Settings.bodyLimit)
        legacyBodyLimit = try reader.required(Settings.legacyBodyLimit)
        memoryLimit = try reader.required(Settings.memoryLimit)
        connectionLimit = try reader.required(Settings.connectionLimit)
        requestTimeout = .seconds(try reader.required(Settings.requestTimeout))
        let hourly = try reader.required(Settings.hourlyByteLimit)
        hourlyByteLimit = hourly == 0 ? nil : hourly
        shutdownTimeout = .seconds(try reader.required(Settings.shutdownTimeout))
    }

    /// The settings of the listeners.
    var listeners: [ListenerSetting] {
        let own = [ListenerSetting(Settings.listen, listen), ListenerSetting(Settings.adminListen, adminListen)]
        return own + (api.map { [ListenerSetting(Settings.apiListen, $0.listen)] } ?? [])
    }

    /// The API's listener and its connection to PostgreSQL.
    struct API: Sendable {
        let listen: ListenAddress
        let database: DatabaseSettings
        /// A standby that answers reads; nil for none.
        let standby: DatabaseSettings?
    }

    /// Settings that are valid by themselves and do not fit together.
    private static func contradictions(_ reader: SettingsReader, _ sockets: ListenSockets) -> [String] {
        let needed = (reader.isGiven(Settings.apiListen) || sockets[.api] != nil) && !reader.isGiven(Settings.apiDatabaseURL)
        let listeners = ListenSockets.Name.allCases.compactMap { name in
            (sockets[name] ?? reader.valid(name.setting)).map { ListenerSetting(name.setting, $0) }
        }
        return (needed ? [SettingsReader.missing(Settings.apiDatabaseURL.description)] : []) + ListenerSetting.conflicts(listeners)
            + smallLimits(reader)
    }

    private static func smallLimits(_ reader: SettingsReader) -> [String] {
        [Settings.bodyLimit, Settings.legacyBodyLimit].flatMap { body in
            [Settings.memoryLimit, Settings.hourlyByteLimit].compactMap { whole in
                guard let limit = reader.valid(body), let room = reader.valid(whole), limit > room, room > 0 else { return nil }
                return "\(reader.place(of: body)) is larger than \(reader.place(of: whole)): no such body could be accepted"
            }
        }
    }
}

/// The sockets that systemd has opened for ingest.
struct ListenSockets: Sendable {
    /// A listener, as `FileDescriptorName=` of its socket unit names it.
    enum Name: String, CaseIterable {
        case notifications, admin, api

        /// The setting whose place the socket takes.
        fileprivate var setting: Setting<ListenAddress> {
            switch self {
            case .notifications: Settings.listen
            case .admin: Settings.adminListen
            case .api: Settings.apiListen
            }
        }
    }

    private var addresses: [Name: ListenAddress] = [:]

    /// No sockets.
    init() {}

    /// - Parameter environment: the environment of the process.
    /// - Throws: ``SettingsError`` when a socket cannot be used.
    init(environment: [String: String]) throws(SettingsError) {
        let found: ListenDescriptors
        do throws(SystemdError) {
            found = try ListenDescriptors(environment: environment)
        } catch {
            throw SettingsError(["a socket of systemd: \(error)"])
        }
        for (name, listener) in found.listeners {
            guard let name = Name(rawValue: name) else {
                let names = Name.allCases.map(\.rawValue).joined(separator: ", ")
                throw SettingsError(["a socket of systemd: FileDescriptorName=\(name) is not one of \(names)"])
            }
            addresses[name] = .inherited(descriptor: listener.descriptor, address: listener.address)
        }
    }

    subscript(name: Name) -> ListenAddress? { addresses[name] }

    /// A sentence for each address that is set and not used.
    func unused(_ reader: SettingsReader) -> [String] {
        Name.allCases.compactMap { name in
            guard let socket = self[name], reader.isGiven(name.setting), reader.valid(name.setting)?.description != "\(socket)" else {
                return nil
            }
            let place = reader.place(of: name.setting)
            return place.hasSuffix("(default)") ? nil : "\(place) is not used: systemd has opened the socket \(name) at \(socket)"
        }
    }
}

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
