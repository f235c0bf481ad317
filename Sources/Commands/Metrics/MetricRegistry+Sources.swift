import AppStoreVerification
import OpenSSL
import Postgres
import Prometheus

extension MetricRegistry {
    /// Exposes the connections of a pool by state, and how many it opened and lost.
    func observe(_ pool: ConnectionPool, as name: String) {
        let dimensions = [("pool", name)]
        observe("appstore_inbox_database_connections", dimensions + [("state", "idle")]) { Double(pool.slots.idle) }
        observe("appstore_inbox_database_connections", dimensions + [("state", "leased")]) { Double(pool.slots.leased) }
        observe("appstore_inbox_database_connections", dimensions + [("state", "opening")]) { Double(pool.slots.opening) }
        observe("appstore_inbox_database_connections", dimensions + [("state", "unanswered")]) { Double(pool.slots.unanswered) }
        observe("appstore_inbox_database_connections_opened_total", dimensions) { Double(pool.counts.opened) }
        observe("appstore_inbox_database_connections_lost_total", dimensions) { Double(pool.counts.lost) }
        observe("appstore_inbox_database_connection_failures_total", dimensions) { Double(pool.counts.failed) }
    }

    /// Exposes the hits and misses of the current verifier's cache of chains, and whether a key's table was found to be wrong.
    func observe(_ verifier: @escaping @Sendable () -> Verifier) {
        observe("appstore_inbox_worker_table_contradictions_total") { Double(PublicKey.tableContradictions) }
        observe("appstore_inbox_worker_chain_cache_hits_total") { Double(verifier().chainCacheCounts.hits) }
        observe("appstore_inbox_worker_chain_cache_misses_total") { Double(verifier().chainCacheCounts.misses) }
    }
}
