"""Pages of printed dialogue as they are found: plays in the public domain, an interview of our own.

Wilde, The Importance of Being Earnest (1895); Ibsen, A Doll's House, translated by W. Archer
(1889); Shakespeare, Hamlet; Goethe, Faust I; Molière, Le Tartuffe; Gogol, The Government Inspector
(Ревизор); Shaw, Pygmalion (1913).
"""

WILDE = """\
The Importance of Being Earnest

by Oscar Wilde


THE PERSONS IN THE PLAY

John Worthing, J.P.
Algernon Moncrieff
Lane, Manservant
Lady Bracknell


FIRST ACT

SCENE

Morning-room in Algernon's flat in Half-Moon Street.  The room is luxuriously
and artistically furnished.  The sound of a piano is heard in the adjoining
room.

[LANE is arranging afternoon tea on the table, and after the music has
ceased, ALGERNON enters.]

ALGERNON.  Did you hear what I was playing, Lane?

LANE.  I didn't think it polite to listen, sir.

ALGERNON.  I'm sorry for that, for your sake.  I don't play accurately--any
one can play accurately--but I play with wonderful expression.  As far as
the piano is concerned, sentiment is my forte.  I keep science for Life.

LANE.  Yes, sir.

ALGERNON.  And, speaking of the science of Life, have you got the cucumber
sandwiches cut for Lady Bracknell?

LANE.  Yes, sir.  [Hands them on a salver.]

ALGERNON.  [Inspects them, takes two, and sits down on the sofa.]  Oh! . . .
by the way, Lane, I see from your book that on Thursday night, when Lord
Shoreman and Mr. Worthing were dining with me, eight bottles of champagne
are entered as having been consumed.

LANE.  Yes, sir; eight bottles and a pint.

ALGERNON.  [Languidly.]  I don't know that I am much interested in your
family life, Lane.

LANE.  No, sir; it is not a very interesting subject.  I never think of it
myself.

LADY BRACKNELL.  Good afternoon, dear Algernon, I hope you are behaving
very well.

ALGERNON.  I'm feeling very well, Aunt Augusta.

LADY BRACKNELL.  That's not quite the same thing.  [Sees LANE and bows to
him with icy coldness.]  In fact the two things rarely go together.
"""

WILDE_TABLE = """<section epub:type="chapter z3998:scene"><h2>Act I</h2>
<p>Scene: Morning-room in Algernon’s flat.</p><table><tbody>
<tr><td/><td><i epub:type="z3998:stage-direction"><b epub:type="z3998:persona">Lane</b> is arranging
afternoon tea on the table.</i></td></tr>
<tr><td epub:type="z3998:persona">Algernon</td><td>Did you hear what I was playing, Lane?</td></tr>
<tr><td epub:type="z3998:persona">Lane</td><td>I didn’t think it polite to listen, sir.</td></tr>
<tr><td epub:type="z3998:persona">Algernon</td><td>And have you got the sandwiches?</td></tr>
<tr><td epub:type="z3998:persona">Lane</td>
<td>Yes, sir. <i epub:type="z3998:stage-direction">Hands them on a salver.</i></td></tr>
<tr><td epub:type="z3998:persona">Algernon</td>
<td><i epub:type="z3998:stage-direction">Languidly.</i>
I believe it <em>is</em> a pleasant state.</td></tr></tbody></table></section>"""

IBSEN = """\
ACT I

_Helmer_ (_calls out from his room_). Is that my little lark twittering out
there?

_Nora_ (_busy opening some of the parcels_). Yes, it is!

_Helmer_. Is it my little squirrel bustling about?

_Nora_. Yes!

_Helmer_. When did my squirrel come home?

_Nora_. Just now. (_Puts the bag of macaroons into her pocket and wipes her
mouth._) Come in here, Torvald, and see what I have bought.

_Helmer_. Don't disturb me. (_A little later, he opens the door and looks
into the room, pen in hand._) Bought, did you say? All these things? Has my
little spendthrift been wasting money again?

_Nora_ (_softly_). Yes but, Torvald, this year we _really_ can let ourselves
go a little.
"""

SHAKESPEARE = """\
DRAMATIS PERSONAE

HAMLET, Prince of Denmark.
HORATIO, Friend to Hamlet.
MARCELLUS, Officer.
BARNARDO, Officer.
Ghost of Hamlet's Father.


ACT I

SCENE I. Elsinore. A platform before the Castle.

 Enter Horatio, Marcellus and Barnardo.

HOR.
What, has this thing appear'd again tonight?

BAR.
I have seen nothing.

MAR.
Horatio says 'tis but our fantasy,
And will not let belief take hold of him
Touching this dreaded sight, twice seen of us.
Therefore I have entreated him along
With us to watch the minutes of this night.

HOR.
Tush, tush, 'twill not appear.

 Enter Ghost.

MAR.
Peace, break thee off. Look where it comes again.

BAR.
In the same figure, like the King that's dead.

MAR. and BAR.
'Tis gone!

[_Exit Ghost._]

ALL.
Swear.

HAM.
Swear by my sword.
"""

GOETHE = """\
  Vorspiel

  DIREKTOR:
  Ihr beiden, die ihr mir so oft,
  In Not und Trübsal, beigestanden,
  Sagt, was ihr wohl in deutschen Landen
  Von unsrer Unternehmung hofft?

  DICHTER (leise):
  O sprich mir nicht von jener bunten Menge,
  Bei deren Anblick uns der Geist entflieht.

  LUSTIGE PERSON:
  Wenn ich nur nichts von Nachwelt hören sollte.

  DIREKTOR:
  Besonders aber laßt genug geschehn!

  DICHTER:
  Ihr fühlet nicht, wie schlecht ein solches Handwerk sei!

  LUSTIGE PERSON:
  So braucht sie denn, die schönen Kräfte.
"""

MOLIERE = """\
ACTE I

SCÈNE PREMIÈRE

MADAME PERNELLE. — Allons, Flipote, allons, que d'eux je me délivre.

ELMIRE. — Vous marchez d'un tel pas qu'on a peine à vous suivre.

MADAME PERNELLE. — Laissez, ma bru, laissez, ne venez pas plus loin.

DORINE, à part. — Si l'on écoute tout ce qu'elle dit, on ne fait plus rien.

ELMIRE. — De ce que l'on vous doit envers vous on s'acquitte.

DORINE, se tournant vers Elmire et la retenant par le bras. — Restez, Madame.
"""

GOGOL = """\
Действие первое

Явление I

Городничий. Я пригласил вас, господа, с тем чтобы сообщить вам пренеприятное
известие: к нам едет ревизор.

Аммос Федорович. Как ревизор?

Артемий Филиппович. Как ревизор?

Городничий. Ревизор из Петербурга, инкогнито. И еще с секретным предписаньем.

Аммос Федорович. Вот те на!

Артемий Филиппович (тихо). Вот не было заботы, так подай!

Городничий. Я как будто предчувствовал. (Пишет.) Сегодня мне всю ночь снились
какие-то две необыкновенные крысы.
"""

SHAW = """\
ACT II

HIGGINS [as he shuts the last drawer] Well, I think that's the whole show.

PICKERING. It's really amazing. I haven't taken half of it in, you know.

HIGGINS. Would you like to go over any of it again?

PICKERING [rising and coming to the fireplace] No, thank you; not now.

HIGGINS [peremptorily] Sit down.

The flower girl enters in state. She has a hat with three ostrich feathers.

MRS. PEARCE [returning] This is the young woman, sir.

PICKERING. What is it (if one may ask) that you want, my girl?

MRS. PEARCE. Nonsense, girl!
"""

INTERVIEW = """\
# The Keeper of the Bridge

We met her on a wet morning, on the bridge itself.

**INTERVIEWER:** When did you first come here?

**ADA LOVELL:** In the winter of the flood. Nobody had crossed for a week.

I came by the old road, and I told [the council] that I would stay.

**INTERVIEWER:** And did they listen?

**ADA LOVELL:** [laughs] They did not.

**INTERVIEWER:** What happened then?

**ADA LOVELL:** The water rose.
"""

TRANSCRIPT = """\
[00:00:03] Anna: Welcome to the show.

[00:00:07] Ben Carter: Thanks for having me.

[00:00:11] Anna: So, the bridge. Who built it?

[00:00:16] Ben Carter: Nobody knows. (laughter) There is a stone with a name on it.

[00:01:02] Anna: Which one?

[00:01:04] Ben Carter: Yours.
"""
