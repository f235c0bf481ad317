import NIOCore

/// Calls a connection at its deadline.
///
/// Moving the deadline to a later instant does not reschedule the timer: it fires early, and the connection checks its deadline again.
final class ConnectionTimer: NIOScheduledCallbackHandler {
    private var eventLoop: (any EventLoop)?
    private var action: (() -> Void)?
    private var scheduled: NIOScheduledCallback?
    private var scheduledAt = NIODeadline.distantFuture

    /// Sets the action to run at a deadline.
    func start(context: ChannelHandlerContext, action: @escaping () -> Void) {
        eventLoop = context.eventLoop
        self.action = action
    }

    /// Schedules the action to run at an instant or earlier.
    func wake(at deadline: NIODeadline) {
        guard let eventLoop, scheduled == nil || deadline < scheduledAt else { return }
        scheduled?.cancel()
        scheduledAt = deadline
        do {
            scheduled = try eventLoop.assumeIsolated().scheduleCallback(at: deadline, handler: self)
        } catch {
            // Only an event loop after its shutdown throws; its connections are closed then.
            scheduled = nil
        }
    }

    /// Cancels the timer.
    func stop() {
        scheduled?.cancel()
        scheduled = nil
        action = nil
        eventLoop = nil
    }

    func handleScheduledCallback(eventLoop: some EventLoop) {
        scheduled = nil
        action?()
    }
}
