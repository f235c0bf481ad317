import Console
import HTTPServing

/// The settings of `appstore-inbox console`.
struct ConsoleSettings: Sendable {
    let database: DatabaseSettings
    let listen: ListenAddress
    /// Nil where the console is reached on this machine without TLS.
    let origin: String?
    let isReadOnly: Bool
    /// The header field in which a proxy names people; nil for logins by link.
    let trustedHeader: String?
    let trustedNames: TrustedNames?
    let adminListen: ListenAddress?
    let shutdownTimeout: Duration

    /// - Throws: ``SettingsError`` with everything that is wrong.
    init(_ reader: SettingsReader) throws(SettingsError) {
        try reader.requireValid(Settings.console, and: Self.contradictions(reader))
        database = try DatabaseSettings(reader)
        listen = try reader.required(Settings.consoleListen)
        origin = try reader.optional(Settings.consoleOrigin)
        isReadOnly = try reader.required(Settings.consoleReadOnly)
        trustedHeader = try reader.optional(Settings.consoleTrustedHeader)
        trustedNames = try reader.trustedNames()
        adminListen = try reader.required(Settings.consoleAdminListen)
        shutdownTimeout = .seconds(try reader.required(Settings.shutdownTimeout))
    }

    /// The settings of the listeners.
    var listeners: [ListenerSetting] {
        [ListenerSetting(Settings.consoleListen, listen)] + (adminListen.map { [ListenerSetting(Settings.consoleAdminListen, $0)] } ?? [])
    }

    /// Settings that are valid by themselves and do not fit together.
    private static func contradictions(_ reader: SettingsReader) -> [String] {
        var problems: [String] = []
        let listen = reader.valid(Settings.consoleListen)
        let place = reader.place(of: Settings.consoleListen)
        if let listen, !listen.isUnix, !listen.isLoopback, !reader.isGiven(Settings.consoleOrigin) {
            problems.append(
                "\(place): \(listen) is not of this machine only: set \(Settings.consoleOrigin.description.variable)=https://…, with a proxy "
                    + "with TLS in front"
            )
        }
        let (header, file) = (Settings.consoleTrustedHeader, Settings.consoleUsersFile)
        if reader.isGiven(header) != reader.isGiven(file) {
            problems.append(
                "\(header.name) and \(file.name) need each other: set \(header.description.variable) and \(file.description.variable)"
            )
        }
        if let listen, !listen.isUnix, reader.isGiven(header) {
            problems.append("\(reader.place(of: header)): anyone on this machine could send the header to \(listen): use a Unix socket")
        }
        do throws(SettingsError) { _ = try reader.trustedNames() } catch { problems += error.problems }
        let admin = reader.valid(Settings.consoleAdminListen) ?? nil
        return problems
            + ListenerSetting.conflicts(
                [
                    listen.map { ListenerSetting(Settings.consoleListen, $0) },
                    admin.map { ListenerSetting(Settings.consoleAdminListen, $0) },
                ]
                .compactMap(\.self)
            )
    }
}

extension SettingsReader {
    /// The people whom a proxy may name; nil where no file is named.
    func trustedNames() throws(SettingsError) -> TrustedNames? {
        guard let path = try optional(Settings.consoleUsersFile) else { return nil }
        let place = place(of: Settings.consoleUsersFile)
        let text: String
        do throws(ReadableFile.Unreadable) {
            text = String(decoding: try ReadableFile.bytes(at: path), as: UTF8.self)
        } catch {
            throw SettingsError(["\(place): \(path) cannot be read: \(error)"])
        }
        do throws(TrustedNames.InvalidLine) { return try TrustedNames(text) } catch { throw SettingsError(["\(place): \(path): \(error)"]) }
    }
}
