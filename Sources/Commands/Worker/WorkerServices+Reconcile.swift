import Reconcile
import ServerAPI
import Systemd

extension WorkerServices {
    /// The service that asks about contracts that look stale, of the apps that have a key.
    func reconcile() -> ReconcileService {
        var configuration = ReconcileService.Configuration()
        configuration.environments = settings.reconcile.mode.environments
        configuration.sample = settings.reconcile.sample
        return ReconcileService(
            pool: sharedPool,
            configuration: configuration,
            // A question whose call cannot be made would only grow old.
            lanes: { [client] in client.openLanes },
            logger: logger,
            heartbeat: monitor.loop
        )
    }
}
