import AppStoreVerification
import Postgres
import Prometheus

extension MetricRegistry {
    /// Exposes what has happened to the connections of a pool.
    func observe(_ pool: ConnectionPool, as name: String) {
        let dimensions = [("pool", name)]
        observe("appstore_inbox_database_connections_opened_total", dimensions) { Double(pool.counts.opened) }
        observe("appstore_inbox_database_connections_lost_total", dimensions) { Double(pool.counts.lost) }
        observe("appstore_inbox_database_connection_failures_total", dimensions) { Double(pool.counts.failed) }
    }

    /// Exposes how often a verifier knew a chain.
    func observe(_ verifier: Verifier) {
        observe("appstore_inbox_worker_chain_cache_hits_total") { Double(verifier.chainCacheCounts.hits) }
        observe("appstore_inbox_worker_chain_cache_misses_total") { Double(verifier.chainCacheCounts.misses) }
    }
}
