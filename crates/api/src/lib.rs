//! The words of the HTTP API: what requests carry and what comes back.
//!
//! Server, CLI and the OpenAPI document share these types; there is no behaviour here beyond the
//! conversion from the rules' own types.

mod ask;
mod attachment;
mod audit;
mod depth;
mod door;
mod engine;
mod error;
mod figures;
mod holdings;
mod job;
mod notification;
mod push;
mod schedule;
mod search;
mod session;
mod settings;
mod stream;
mod token;
mod workspace;

pub use ask::{AnswerKind, AnswerRequest, AskList, AskView, InvalidAnswerRequest};
pub use attachment::NewAttachment;
pub use audit::{
    AlarmView, AuditFound, AuditList, AuditVerdict, ChainList, ChainVerified, ChainView,
};
pub use door::{
    AcpRequest, DoorAlive, DoorAnswer, DoorAsk, DoorAskKind, DoorParent, DoorProgram, DoorReply,
    DoorReport, DoorRun, DoorSession, DoorWord, NewDoorAsk, NewDoorRun,
};
pub use engine::{EarlierSession, EarlierSessions, EngineOffer, EngineOffers, SignIn};
pub use error::{ErrorBody, ErrorCode};
pub use figures::{AnswererView, DayView, FatesView, FiguresView, SloView, ToolView, WaitsView};
pub use holdings::{
    Belongs, ChangeOutcome, ChangePreviewRequest, ChangePreviewView, ChangeProposal, CommandView,
    ConfigFile, ExportView, HoldingsView, McpView, NewChange, NewWorkspace, NewerFileView,
    PluginView, RenameWorkspace, SecretWarning, SkillDetail, SkillView, TextProblem, WritesMode,
    WritesView,
};
pub use job::{
    HealAction, HealReport, HealRequest, Healed, JobDiff, JobList, JobLog, JobView, NewJob,
    PriorityRequest, RetryRequest,
};
pub use notification::{NotificationList, NotificationsRetried, TargetTest, TargetView};
pub use push::{NewPushSubscription, PushKeys, PushView};
pub use schedule::ScheduleList;
pub use search::{PassageKind, SearchHit, SearchResult};
pub use session::{
    ItemList, NewSession, PromptRequest, PromptTaken, QueuedPrompt, SessionList, SessionView,
    TakeBackRequest,
};
pub use settings::{SetRequest, SettingSet, SettingsView};
pub use stream::{EndOfServer, Goodbye};
pub use token::{
    Me, NewPairing, NewRule, NewToken, PairRequest, Paired, PairingView, RuleEnd, RuleList,
    RulePreview, RulePreviewRequest, RuleSample, TokenList, TokenMade,
};
pub use workspace::{Consent, EngineView, WorkspaceList, WorkspaceView};
