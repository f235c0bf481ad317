import HTTPServing
import Webhooks

/// The settings for webhooks.
struct WebhookSettings: Sendable {
    /// What they are signed with; nil delivers none.
    let masters: WebhookMasters?
    let headers: WebhookHeaders
    let networks: NetworkPolicy
    /// Nil for direct connections.
    let proxy: ProxyAddress?
    /// The ports of this program's listeners, as far as the settings name them.
    let ownPorts: Set<Int>

    /// - Throws: ``SettingsError`` with the first thing that is wrong.
    init(_ reader: SettingsReader) throws(SettingsError) {
        masters = try reader.optional(Settings.webhookSecret)
        headers = try reader.webhookHeaders()
        networks = try reader.required(Settings.outboundNetworks)
        proxy = try reader.optional(Settings.outboundProxy)
        // Where no ingest runs beside the worker, its defaults may be another program's.
        let listeners = [Settings.listen, Settings.adminListen, Settings.apiListen].filter(reader.isGiven).map { reader.valid($0) }
        ownPorts = Set((listeners + [reader.valid(Settings.workerAdminListen) ?? nil]).compactMap { $0?.port })
    }

    /// Files of headers that cannot be used.
    static func problems(_ reader: SettingsReader) -> [String] {
        do throws(SettingsError) {
            _ = try reader.webhookHeaders()
            return []
        } catch {
            return error.problems
        }
    }
}
