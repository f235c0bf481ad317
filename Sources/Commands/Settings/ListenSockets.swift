import HTTPServing
import Systemd

/// The sockets that systemd has opened for ingest.
struct ListenSockets: Sendable {
    /// A listener, as `FileDescriptorName=` of its socket unit names it.
    enum Name: String, CaseIterable {
        case notifications, admin, api

        /// The setting whose place the socket takes.
        var setting: Setting<ListenAddress> {
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
